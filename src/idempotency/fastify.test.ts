import { describe, expect, it, vi } from 'vitest'
import { memoryJobs } from '../once/index.ts'
import { FakeClock } from '../testing/index.ts'
import { type FastifyReplyLike, fastifyIdempotency } from './index.ts'

describe('the hooks of Fastify', () => {
  function open() {
    const clock = new FakeClock()
    const hooks = fastifyIdempotency({ jobs: memoryJobs({ clock }), clock, principal: 'everyone' })
    const setTimer = vi.spyOn(clock, 'setTimer')
    function begin() {
      const request = {
        ...{ method: 'POST', originalUrl: '/charges', body: undefined, raw: {} },
        headers: { 'idempotency-key': '"k"' },
      }
      let hangUp = () => {}
      const codes: number[] = []
      const reply: FastifyReplyLike = {
        statusCode: 200,
        raw: {
          once(_, listener) {
            hangUp = listener
          },
        },
        code: (status) => codes.push(status),
        header: () => {},
        getHeaders: () => ({}),
        send: () => {},
      }
      return { request, reply, codes, hangUp: () => hangUp() }
    }
    return { clock, hooks, begin, setTimer }
  }

  it('free the key of a handler that never answers a client that has gone, after the TTL', async () => {
    const { clock, hooks, begin } = open()
    const first = begin()
    expect(await hooks.preHandler(first.request, first.reply)).toBe(undefined)
    first.hangUp()
    const second = begin()
    await hooks.preHandler(second.request, second.reply)
    expect(second.codes).toEqual([409])
    await clock.advance('61s')
    const third = begin()
    await hooks.preHandler(third.request, third.reply)
    expect(third.codes).toEqual([])
  })

  it('the hooks of Fastify keep no timer for a request that was answered', async () => {
    const { hooks, begin, setTimer } = open()
    const { request, reply, hangUp } = begin()
    await hooks.preHandler(request, reply)
    expect(await hooks.onSend(request, reply, 'done')).toBe('done')
    const timers = setTimer.mock.calls.length
    hangUp()
    expect(setTimer.mock.calls.length).toBe(timers)
  })

  it('pass on what is sent without a key', async () => {
    const { hooks, begin } = open()
    const { request, reply } = begin()
    expect(await hooks.onSend(request, reply, 'other')).toBe('other')
  })
})
