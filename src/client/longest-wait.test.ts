import { afterEach, describe, expect, it, vi } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { HoldRequests } from './hold-requests.ts'
import { createLockRequests } from './lock-requests.ts'

const TERMS = { ttl_ms: 30_000, heartbeat_ms: 10_000, channel: 'document.r', channel_key: 'holdfast' }
const UNLOCKED = { is_locked: false, waiting: [], you: { session_id: 's' }, ...TERMS }

afterEach(() => vi.unstubAllGlobals())

/** A server behind a proxy that ends a request after this time. Nobody is ever granted the lock. */
function behindProxy(url: string, limitMs: number, onLimit: () => Response) {
  const clock = new FakeClock()
  /** How long the requests wanted to wait, in seconds. */
  const waits: number[] = []
  vi.stubGlobal('fetch', async (address: URL, { method }: RequestInit) => {
    if (method === 'GET') return Response.json(UNLOCKED)
    const ms = Number(address.searchParams.get('wait') ?? 0) * 1000
    if (ms > 0) waits.push(ms / 1000)
    await new Promise<void>((resolve) => void clock.setTimer(resolve, Math.min(ms, limitMs)))
    return ms > limitMs ? onLimit() : Response.json({ error: 'already_locked' }, { status: 409 })
  })
  const wait = async (totalMs: number) => {
    const name = () => 'Mika'
    const options = { url, roomId: 'r', clientId: 'tab', clock, name, expectResponse: () => () => {} }
    const waiting = new HoldRequests(options, createLockRequests(options)).acquire(
      totalMs,
      new AbortController().signal,
    )
    const over = waiting.then(
      () => true,
      () => true,
    )
    let isOver = false
    void over.then((value) => (isOver = value))
    while (!isOver) await clock.advance(100)
  }
  return { waits, wait }
}

const gatewayTimeout = () => new Response('<h1>504 Gateway Time-out</h1>', { status: 504 })
const cut = () => {
  throw new TypeError('terminated')
}

describe('a wait behind a proxy that ends requests after 5 s', () => {
  it.each([
    ['with 504', 'http://a.test/', gatewayTimeout],
    ['by closing the connection', 'http://b.test/', cut],
  ])('asks for less after the first request was ended %s, and remembers it', async (_, url, onLimit) => {
    const proxy = behindProxy(url, 5000, onLimit)
    await proxy.wait(60_000)
    expect(proxy.waits[0]).toBe(25)
    expect(proxy.waits.length).toBeGreaterThan(8)
    expect(Math.max(...proxy.waits.slice(1))).toBeLessThanOrEqual(4.1)
    proxy.waits.length = 0
    await proxy.wait(60_000)
    expect(Math.max(...proxy.waits)).toBeLessThanOrEqual(4.1)
  })

  it('a wait behind a proxy that ends requests after 5 s never asks more than every two seconds, and not for less after another answer', async () => {
    const short = behindProxy('http://c.test/', 100, gatewayTimeout)
    await short.wait(60_000)
    expect(Math.min(...short.waits.slice(0, -1))).toBe(2)
    const busy = () => Response.json({ error: 'store_unavailable' }, { status: 503 })
    const other = behindProxy('http://d.test/', 5000, busy)
    await other.wait(60_000)
    expect(other.waits[1]).toBe(25)
  })
})
