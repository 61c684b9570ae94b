import { afterEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { connect, type Network, open } from '../../test/server/page-network.ts'
import { type ServiceBed, serviceBed } from '../../test/server/service-bed.ts'

const LOCK = '/api/documents/room-1/lock'

afterEach(() => vi.unstubAllGlobals())

/** Lets time pass in small steps, each after the requests of the last one were answered. */
async function pass(bed: ServiceBed, network: Network, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 50) {
    await bed.clock.advance(50)
    await vi.waitUntil(() => network.unanswered === 0, { interval: 0 })
  }
}

describe('a tab behind a proxy that ends every WebSocket after 50 ms', () => {
  it('a tab behind a proxy that ends every WebSocket after 50 ms opens fewer and fewer sockets, and reads no more often than without them', async () => {
    await using bed = await serviceBed()
    const network = connect(bed)
    let sockets = 0
    class CutSocket {
      readonly readyState = 1
      onmessage: ((message: { readonly data: string }) => void) | undefined
      onclose: (() => void) | undefined
      constructor() {
        sockets++
        bed.clock.setTimer(() => this.#say('pusher:connection_established', { socket_id: '1.1' }), 1)
        bed.clock.setTimer(() => this.onclose?.(), 50)
      }
      send(text: string) {
        const { event, data } = JSON.parse(text)
        if (event === 'pusher:subscribe')
          this.#say('pusher_internal:subscription_succeeded', {}, data.channel)
      }
      close() {}
      #say(event: string, data: object, channel?: string) {
        this.onmessage?.({ data: JSON.stringify({ event, data: JSON.stringify(data), channel }) })
      }
    }
    vi.stubGlobal('WebSocket', CutSocket)
    await using lock = open(bed)
    await eventually(() => expect(lock.state.me).not.toBeNull())
    expect(await lock.acquire()).toBe(true)
    await pass(bed, network, 60_000)
    expect(sockets).toBeLessThan(15)
    // A read every two seconds, a heartbeat every ten, and a few for each socket.
    expect(network.sent.length).toBeLessThan(30 + 6 + 4 * sockets)
    expect(lock.state.phase).toBe('held')
  })
})

describe('a limit of the server', () => {
  it('a limit of the server of waiters is shown while the tab waits, which asks again as rarely as the server says', async () => {
    await using bed = await serviceBed({ settings: { maxWaiters: 1, ttl: '10m' } })
    const network = connect(bed)
    await bed.browser('holder').call('POST', LOCK)
    const first = bed.browser('first')
    // It gets its cookie.
    await first.call('GET', LOCK)
    const firstTurn = first.call('POST', `${LOCK}?wait=60`)
    await eventually(async () =>
      expect((await bed.browser().call('GET', LOCK)).body).toMatchObject({ waiting_count: 1 }),
    )
    await using lock = open(bed)
    const turn = lock.acquire({ wait: Infinity })
    await eventually(() =>
      expect(lock.state).toMatchObject({
        phase: 'waiting',
        error: { code: 'too-many-waiters', retryable: true, cause: { error: 'too_many_waiters' } },
      }),
    )
    const asked = () => network.sent.filter((name) => name === `POST ${LOCK}`).length
    const before = asked()
    await pass(bed, network, 20_000)
    expect(asked() - before).toBeLessThanOrEqual(5)
    await first.call('DELETE', LOCK)
    await firstTurn
    await eventually(async () => {
      await bed.clock.advance(1000)
      expect(lock.state).toMatchObject({ phase: 'waiting', place: 0, error: null })
    })
    await lock.release()
    expect(await turn).toBe(false)
  })

  it('a limit of the server of requests is the error of a save and of a takeover, with the time to wait', async () => {
    await using bed = await serviceBed()
    connect(bed)
    await using lock = open(bed)
    await lock.acquire()
    const { fetch } = globalThis
    let isLimited = true
    vi.stubGlobal('fetch', async (url: URL, init: RequestInit) => {
      if (!isLimited || !['PUT', 'POST'].includes(init.method ?? '')) return fetch(url, init)
      const body = { error: 'too_many_requests', message: 'slow down' }
      return Response.json(body, { status: 429, headers: { 'Retry-After': '7' } })
    })
    const refusal = { code: 'too-many-requests', retryable: true, cause: { retryAfterMs: 7000 } }
    await expect(lock.save('text')).rejects.toMatchObject(refusal)
    expect(lock.state).toMatchObject({ phase: 'troubled', error: refusal })
    expect(await lock.takeover()).toBe(false)
    expect(lock.state).toMatchObject({ demand: 'failed', error: refusal })
    isLimited = false
    await lock.save('text')
  })

  it('a limit of the server of the length of a document is named, in the answer and in the error', async () => {
    await using bed = await serviceBed({ settings: { maxDocument: 1024 } })
    connect(bed)
    await using lock = open(bed)
    await lock.acquire()
    await expect(lock.save('x'.repeat(1024))).rejects.toMatchObject({
      code: 'too-large',
      retryable: false,
      message: expect.stringContaining('at most 1024 bytes'),
      cause: { status: 413, error: 'body_too_large', limit: 1024 },
    })
    expect(lock.state.phase).toBe('held')
  })
})
