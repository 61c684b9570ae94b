import { describe, expect, it } from 'vitest'
import { SHARDS, shardOf } from './names.ts'
import { packLease, unpack, unpackLive } from './rows.ts'

describe('shardOf', () => {
  it('shardOf never changes, because leases are stored where it says', () => {
    expect(['', 'a', 'invoice:42', '{brace}', '🔒'].map(shardOf)).toEqual([5, 44, 4, 48, 14])
  })

  it('shardOf spreads names', () => {
    const shards = Array.from({ length: 6400 }, (_, n) => shardOf(`invoice:${n}`))
    const counts = Array.from({ length: SHARDS }, (_, shard) => shards.filter((one) => one === shard).length)
    expect(Math.min(...counts)).toBeGreaterThan(50)
    expect(Math.max(...counts)).toBeLessThan(200)
  })
})

describe('unpack', () => {
  const metadata = { host: 'a b' }
  const ask = { resource: 'r', id: 'the id', owner: 'Mika', ttl: 3000, metadata }
  const row = `F 5000000 4000000 1000999 2000000 ${packLease(ask, 'channel')}`

  it('unpack returns a lease as it is at that moment', () => {
    const common = { resource: 'r', id: 'the id', owner: 'Mika', token: 5_000_000, metadata, share: null }
    expect(unpack(row, 'held', 3_000_500)).toEqual({
      ...common,
      ...{ acquiredAt: 1000, expiresAt: 5000, remaining: 1999.5, state: 'held' },
    })
    expect(unpack(row, 'expired', 9_000_000)).toMatchObject({ ...common, remaining: 0, state: 'expired' })
  })

  it('unpack leaves a lease no more than its span when the clock stepped back', () => {
    expect(unpack(row, 'held', 500_000)).toMatchObject({ expiresAt: 3500, remaining: 3000 })
  })

  it('unpack returns only a live lease, whether or not somebody waits', () => {
    expect(unpackLive(row.replace('F', 'W0:'), 4_999_999)).toMatchObject({ id: 'the id' })
    expect(unpackLive(row, 5_000_000)).toBe(null)
    for (const free of ['', 'F 5000000 4000000', 'W6000000:next 5000000 4000000'])
      expect(unpackLive(free, 1)).toBe(null)
  })

  const ABOUT = '{"resource":"r","id":"x","owner":"Mika"}'
  it.each([
    ...['1 1 1 1 c', 'F 1 1 1 1 1 c x', 'F 1 1 1 1 1 c x null', 'F 1 1 1 1 1 c x {"id":1}', 'F 1'],
    `F 99999999999999999999 1 1 1 1 c x ${ABOUT}`,
    `S0:0:0:0 1 1 1 1 1 c x ${ABOUT}`,
    `F 1 1 1 1 1 c x ${ABOUT.replace('}', ',"metadata":[]}')}`,
  ])('rejects %j', (text) => {
    expect(() => unpackLive(text, 0)).toThrow('Redis: a value is not a lease')
  })
})
