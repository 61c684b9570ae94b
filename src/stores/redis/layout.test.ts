import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareBytes, packAbout, SHARDS, shardOf, unpack } from './layout.ts'

describe('shardOf', () => {
  it('is what it has always been, since leases lie where it says', () => {
    expect(['', 'a', 'invoice:42', '{brace}', '🔒'].map(shardOf)).toEqual([5, 44, 4, 48, 14])
  })

  it('spreads names', () => {
    const shards = Array.from({ length: 6400 }, (_, n) => shardOf(`invoice:${n}`))
    const counts = Array.from({ length: SHARDS }, (_, shard) => shards.filter((one) => one === shard).length)
    expect(Math.min(...counts)).toBeGreaterThan(50)
    expect(Math.max(...counts)).toBeLessThan(200)
  })
})

describe('compareBytes', () => {
  it('orders as UTF-8 does', () => {
    const text = fc.string({ unit: 'binary' }).filter((one) => one.isWellFormed())
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareBytes(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)))
      }),
    )
  })
})

describe('unpack', () => {
  const about = packAbout('r', 'id', 'Mika', { host: 'a b' })
  const packed = `5000000 1000999 2000000 3000000 channel ${about}`

  it('shows a lease as it is at that moment', () => {
    const common = { resource: 'r', id: 'id', owner: 'Mika', token: 5_000_000, metadata: { host: 'a b' } }
    expect(unpack(packed, 'held', 3_000_500)).toEqual({
      ...common,
      ...{ acquiredAt: 1000, expiresAt: 5000, remaining: 1999.5, state: 'held' },
    })
    expect(unpack(packed, 'expired', 9_000_000)).toMatchObject({ ...common, remaining: 0, state: 'expired' })
  })

  it('leaves no more than the span to a lease when the clock stepped back', () => {
    expect(unpack(packed, 'held', 500_000)).toMatchObject({ expiresAt: 3500, remaining: 3000 })
  })

  it.each(['', '1 1 1 1 c', '1 1 1 1 c null', '1 1 1 1 c {"id":1}', `x 1 1 1 c ${about}`])(
    'refuses %j',
    (text) => {
      expect(() => unpack(text, 'held', 0)).toThrow('Redis holds what is no lease')
    },
  )
})
