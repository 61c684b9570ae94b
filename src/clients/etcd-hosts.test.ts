import { Etcd3, GRPCUnavailableError } from 'etcd3'
import { describe, expect, it, vi } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { withoutBreaker } from './etcd-hosts.ts'

/** After three failures in a row, the breaker of the client refuses calls. */
const MANY = 10

/** Of a pool of `etcd3`, which chooses a host for each call. */
interface Pool {
  readonly hosts: readonly { getServiceClient(name: string): unknown; resetAllServices(): void }[]
  withConnection<T>(service: 'KV', work: (chosen: { readonly client: number }) => Promise<T>): Promise<T>
}

/** Calls through the pool of a real client, which opens no connection. `failing`: the numbers of hosts that fail. */
function setUp(count: number) {
  const client = new Etcd3({ hosts: Array.from({ length: count }, (_, n) => `127.0.0.1:${n + 1}`) })
  const poolOf = (service: unknown) => (service as { readonly client: Pool }).client
  const { hosts } = poolOf(client.kv)
  for (const [n, host] of hosts.entries()) vi.spyOn(host, 'getServiceClient').mockReturnValue(n)
  const resets = hosts.map((host) => vi.spyOn(host, 'resetAllServices'))
  const clock = new FakeClock()
  const pool = poolOf(withoutBreaker({ kv: client.kv }, clock).kv)
  const failing = new Set<number>()
  let called: number[] = []
  return {
    clock,
    failing,
    resets: () => resets.map(({ mock }) => mock.calls.length),
    /** The hosts that were called since the last time. */
    called() {
      const before = called
      called = []
      return before
    },
    async call(): Promise<string> {
      try {
        return await pool.withConnection('KV', async ({ client: host }) => {
          called.push(host)
          if (failing.has(host)) throw new GRPCUnavailableError('no connection')
          return 'answered'
        })
      } catch (error) {
        return (error as Error).message
      }
    },
  }
}

async function repeat(times: number, call: () => Promise<string>): Promise<string[]> {
  const answers: string[] = []
  for (let n = 0; n < times; n++) answers.push(await call())
  return answers
}

describe('the hosts of an etcd client', () => {
  it('the hosts of an etcd client are called again at once when the outage is over', async () => {
    const { call, called, failing } = setUp(1)
    failing.add(0)
    expect(new Set(await repeat(MANY, call))).toEqual(new Set(['no connection']))
    expect(called()).toHaveLength(MANY)
    failing.clear()
    expect(await call()).toBe('answered')
  })

  it('the hosts of an etcd client are all called while none of them answers', async () => {
    const { call, called, failing } = setUp(3)
    for (const host of [0, 1, 2]) failing.add(host)
    await repeat(3 * MANY, call)
    called()
    await repeat(3 * MANY, call)
    expect(new Set(called())).toEqual(new Set([0, 1, 2]))
  })

  it('the hosts of an etcd client are avoided after failures while another one answers, and tried once in five seconds', async () => {
    const { clock, call, called, failing } = setUp(2)
    failing.add(0)
    await repeat(2 * MANY, call)
    called()
    expect(new Set(await repeat(MANY, call))).toEqual(new Set(['answered']))
    expect(called()).not.toContain(0)
    await clock.advance(5000)
    await repeat(2 * MANY, call)
    expect(called().filter((host) => host === 0)).toHaveLength(1)
    failing.clear()
    await clock.advance(5000)
    await repeat(2 * MANY, call)
    expect(called().filter((host) => host === 0).length).toBeGreaterThan(1)
  })

  it('the hosts of an etcd client get new channels once for many failures of one moment', async () => {
    const { clock, call, failing, resets } = setUp(1)
    failing.add(0)
    await Promise.all(Array.from({ length: MANY }, call))
    expect(resets()).toEqual([1])
    await clock.advance(1000)
    await call()
    expect(resets()).toEqual([2])
  })

  it('the hosts of an etcd client keep the `faultHandling` that somebody chose for them', () => {
    const host = () => ({ execute: vi.fn(), onSuccess: vi.fn(), onFailure: vi.fn() })
    const { kv } = new Etcd3({ hosts: '127.0.0.1:1', faultHandling: { host } as never })
    expect(withoutBreaker({ kv }).kv).toBe(kv)
  })
})
