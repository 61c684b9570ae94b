import { describe, expect, it } from 'vitest'
import { createLeases, LeaseError, type LeaseOptions } from '../../src/core/index.ts'
import { setUp } from './set-up.ts'

describe('promise 7, errors', () => {
  it('a manager repeats a request whose answer was lost under the same id', async () => {
    const { clock, network, leases, store, events } = setUp()
    network.faults = { loseAnswer: 1 }
    const acquiring = leases.acquire('r', { ttl: 4000, wait: 20_000 })
    await clock.advance(3000)
    const [[first] = []] = await store.read(['r'])
    network.faults = {}
    await clock.advance(6000)
    const lease = await acquiring
    expect(lease.id).toBe(first?.id)
    expect(events.filter(({ type }) => type === 'attempt').length).toBeGreaterThan(1)
  })

  it('a manager wraps what a store throws that is no LeaseError', async () => {
    const { store } = setUp()
    const cause = new Error('boom')
    const broken = createLeases({
      ...store,
      acquire: () => Promise.reject(cause),
      read: () => Promise.reject(cause),
    })
    await expect(broken.acquire('r')).rejects.toMatchObject({ code: 'store-failed', retryable: false, cause })
    await expect(broken.inspect('r')).rejects.toMatchObject({ code: 'store-failed', cause })
  })

  it('errors are told apart by their code, which the compiler knows then', async () => {
    const { leases, another } = setUp()
    await another().acquire('r', { owner: 'Mika' })
    const held: unknown = await leases.acquire('r', { wait: 0 }).catch((error) => error)
    expect(LeaseError.is(held, 'lease-held')).toBe(true)
    expect(LeaseError.is(held, 'lease-lost')).toBe(false)
    expect(LeaseError.is({ code: 'lease-held' }, 'lease-held')).toBe(false)
    expect(LeaseError.is(undefined, 'lease-held')).toBe(false)
    if (LeaseError.is(held, 'lease-held')) {
      const code: 'lease-held' = held.code
      expect([code, held.holder?.owner, held.holders?.length]).toEqual(['lease-held', 'Mika', 1])
    }
    if (LeaseError.is(held, 'lease-lost')) {
      const none: undefined = held.holder
      expect(none).toBeUndefined()
    }
    const any: unknown = held
    if (LeaseError.is(any)) expect(any.retryable).toBe(true)
    expect([LeaseError.is(any), LeaseError.is(new Error('x')), LeaseError.is(undefined)]).toEqual([
      true,
      false,
      false,
    ])
    // @ts-expect-error: not a code
    expect(LeaseError.is(held, 'lease_held')).toBe(false)
  })

  it('an error names the option, the expected and the received value', async () => {
    const { leases, store } = setUp()
    const bad: [LeaseOptions, RegExp][] = [
      [{ ttl: 5 }, /^ttl: expected whole milliseconds from 10 to 2147483647, or text such as '30s', got 5$/],
      [{ ttl: '30 sec' as never }, /^ttl: .* got "30 sec"$/],
      [{ ttl: 10n as never }, /^ttl: .* got 10n$/],
      [{ ttl: Symbol('x') as never }, /^ttl: .* got Symbol\(x\)$/],
      [
        { owner: Object.create(null) },
        /^owner: expected 1 to 512 bytes of UTF-8 without NUL, got an object$/,
      ],
      [{ ttl: Infinity }, /^ttl: /],
      [{ heartbeat: 30_000 }, /^heartbeat: expected .* from 1 to 27000, .* got 30000$/],
      [{ heartbeat: 0 }, /^heartbeat: /],
      [{ wait: -1 }, /^wait: .* got -1$/],
      [{ wait: Number.NaN }, /^wait: /],
      [{ owner: '' }, /^owner: expected 1 to 512 bytes of UTF-8 without NUL, got ""$/],
      [{ metadata: [] as never }, /^metadata: expected a JSON object of at most 4096 bytes, got an array$/],
      [{ metadata: { long: 'x'.repeat(5000) } }, /^metadata: /],
      [{ metadata: { big: 1n } as never }, /^metadata: /],
      [
        { metadata: { ratio: Number.NaN } },
        /^metadata: expected a JSON object of at most 4096 bytes, got ratio: NaN$/,
      ],
      [{ metadata: { a: [new Set([1])] } as never }, /^metadata: .* got 0: a Set$/],
      [{ owner: 'x'.repeat(513) }, /^owner: /],
      [{ owner: 'a\0b' }, /^owner: /],
      [{ owner: '\ud800' }, /^owner: /],
      [{ retry: 5 as never }, /^retry: /],
      [{ signal: 'x' as never }, /^signal: expected an AbortSignal, got "x"$/],
    ]
    for (const [options, message] of bad) {
      await expect(leases.acquire('r', options), JSON.stringify(message.source)).rejects.toMatchObject({
        code: 'invalid-argument',
        retryable: false,
        message: expect.stringMatching(message),
      })
    }
    expect(() => createLeases(store, { ttl: 1 })).toThrow(/^ttl: /)
    expect(() => createLeases(store, { owner: '' })).toThrow(/^owner: /)
    expect(() => createLeases({} as never)).toThrow(
      /^store: expected a LeaseStore such as memoryStore\(\), got an object$/,
    )
    expect(() => createLeases(undefined as never)).toThrow(/^store: /)
    await expect(leases.withLease('r', {} as never)).rejects.toThrow(
      /^work: expected a function, got an object; the options come last$/,
    )
    expect(() => leases.subscribe(null as never)).toThrow(/^listener: /)
    await expect(leases.list({ limit: 0 })).rejects.toThrow(/^limit: /)
  })

  it('a manager takes names of 1 to 512 bytes in NFC, without control characters', async () => {
    const { leases } = setUp()
    for (const name of [
      '',
      'x'.repeat(513),
      '界'.repeat(171),
      'a\nb',
      'a\u0000',
      'a\u0085',
      '\ud800',
      5 as never,
    ]) {
      await expect(leases.acquire(name)).rejects.toMatchObject({
        code: 'invalid-argument',
        message: expect.stringMatching(
          /^resource: expected 1 to 512 bytes of UTF-8 without control characters, got /,
        ),
      })
    }
    const decomposed = await leases.acquire('e\u0301')
    expect(decomposed.resource).toBe('\u00e9')
    expect(await leases.tryAcquire('\u00e9')).toBeNull()
    await leases.acquire('x'.repeat(512))
  })

  it('a manager takes prefixes in any form of Unicode, as it takes names', async () => {
    const { leases } = setUp()
    await using lease = await leases.acquire('cafe\u0301:1')
    for (const prefix of ['cafe\u0301', 'caf\u00e9'])
      expect(await leases.list({ prefix })).toMatchObject({ leases: [{ resource: lease.resource }] })
    const seen: unknown[] = []
    await using _ = await leases.watch({ prefix: 'cafe\u0301' }, ({ lease }) => seen.push(lease?.resource))
    await leases.acquire('cafe\u0301:2')
    expect(seen).toEqual(['caf\u00e9:2'])
  })
})
