import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ANSWER_LIMIT_MS } from './options.ts'
import { type PgClientClass, pgListener } from './pg.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** A `Client` whose server accepts the connection and answers when the test says so. */
function silentClient() {
  const { promise: connected, resolve, reject } = Promise.withResolvers<void>()
  const queries: string[] = []
  let running = 0
  class Client {
    readonly processID = 7
    readonly connection = { stream: { destroy: reject } }
    on() {}
    connect = () => connected
    async query({ text }: { readonly text: string }) {
      expect(++running).toBe(1)
      await Promise.resolve()
      running--
      queries.push(text)
      return { rows: [] }
    }
    async end() {}
  }
  return { Client: Client as unknown as PgClientClass, connect: resolve, queries }
}

const hooks = { notified: () => {}, dropped: () => {} }

describe('the listening connection of pg', () => {
  it('the listening connection of pg is given up if the server does not answer', async () => {
    const { Client } = silentClient()
    const opening = pgListener(Client, {}, hooks).catch((error: Error) => error.message)
    await vi.advanceTimersByTimeAsync(ANSWER_LIMIT_MS)
    expect(await opening).toContain('timeout')
  })

  it('the listening connection of pg has no limit once it is open, and runs one query at a time', async () => {
    const { Client, connect, queries } = silentClient()
    const opening = pgListener(Client, {}, hooks)
    connect()
    const listener = await opening
    expect(vi.getTimerCount()).toBe(0)
    await Promise.all([listener.listen('a'), listener.unlisten('a'), listener.listen('b"')])
    expect(queries).toEqual(['listen "a"', 'unlisten "a"', 'listen "b"""'])
  })
})
