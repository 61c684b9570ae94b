import { describe, expect, it } from 'vitest'
import { type LeaseOperation, leaseViolations } from './index.ts'

type Terms = Partial<LeaseOperation>
const call = (
  kind: LeaseOperation['kind'],
  by: string,
  [start, end]: readonly [number, number],
  more: Terms,
) => ({
  kind,
  resource: 'r',
  id: `${by}'s`,
  by,
  start,
  end,
  ...more,
})
const grant = (by: string, token: number, times: readonly [number, number], more: Terms = {}) =>
  call('acquire', by, times, { token, ttl: 100, ...more })
const renew = (by: string, token: number, times: readonly [number, number]) =>
  call('renew', by, times, { token, ttl: 100 })
const release = (by: string, times: readonly [number, number]) => call('release', by, times, {})
const force = (times: readonly [number, number]) => call('force', 'admin', times, {})

describe('the history of leases', () => {
  it('a history of leases that follow each other is accepted', () => {
    const good = [
      grant('ann', 1, [0, 5]),
      renew('ann', 1, [50, 60]),
      release('ann', [70, 90]),
      grant('ben', 2, [60, 80]),
      grant('cid', 3, [170, 200]),
    ]
    expect(leaseViolations(good)).toEqual([])
    expect(leaseViolations(good.toReversed())).toEqual([])
  })

  it('a grant beside a live lease is found', () => {
    expect(leaseViolations([grant('ann', 1, [0, 5]), grant('ben', 2, [10, 20])])).toEqual([
      "ben's lease of r with token 2 was granted by 20 ms beside ann's lease of r with token 1, which lasted until 100 ms",
    ])
  })

  it('a grant beside a lease that an acknowledged renewal has extended is found', () => {
    const renewed = [grant('ann', 1, [0, 5]), renew('ann', 1, [90, 95])]
    expect(leaseViolations([...renewed, grant('ben', 2, [120, 150])])).toHaveLength(1)
    expect(leaseViolations([...renewed, grant('ben', 2, [120, 190])])).toEqual([])
  })

  it('a renewal without an answer extends nothing for certain', () => {
    const unknown = call('renew', 'ann', [90, Infinity], { ttl: 100 })
    expect(leaseViolations([grant('ann', 1, [0, 5]), unknown, grant('ben', 2, [105, 110])])).toEqual([])
  })

  it('a release may take effect at any moment between its start and its end', () => {
    const released = [grant('ann', 1, [0, 5]), release('ann', [20, Infinity])]
    expect(leaseViolations([...released, grant('ben', 2, [10, 21])])).toEqual([])
    expect(leaseViolations([...released, grant('ben', 2, [10, 19])])).toHaveLength(1)
  })

  it('more leases than may share are found, and as many as may share are not', () => {
    const two = [grant('ann', 1, [0, 5], { share: 2 }), grant('ben', 2, [10, 15], { share: 3 })]
    expect(leaseViolations(two)).toEqual([])
    expect(leaseViolations([...two, grant('cid', 3, [20, 25], { share: 3 })])).toHaveLength(1)
    expect(leaseViolations([...two, grant('cid', 3, [20, 25])])).toHaveLength(1)
    const three = two.map((one) => ({ ...one, share: 3 }))
    expect(leaseViolations([...three, grant('cid', 3, [20, 25], { share: 3 })])).toEqual([])
  })

  it('a token that falls is found, also if the clock of the store jumps', () => {
    const falling = [grant('ann', 7, [0, 5]), release('ann', [6, 8]), grant('ben', 3, [10, 15])]
    expect(leaseViolations(falling, { jumps: true })).toEqual([
      "ben's lease of r with token 3 began after ann's lease of r with token 7 was granted, and its token is lower",
    ])
  })

  it('calls at the same time may have their tokens in any order', () => {
    const together = [grant('ann', 2, [0, 20]), release('ann', [25, 30]), grant('ben', 1, [5, 20])]
    expect(leaseViolations([...together, release('ben', [6, 10])])).toEqual([])
  })

  it('a token of two holders is found', () => {
    expect(leaseViolations([grant('ann', 1, [0, 5]), grant('ben', 1, [200, 205])])[0]).toMatch(
      /token 1 of r was given to ann .* and ben/,
    )
  })

  it('a steal ends all leases, and a takeover only that with its token', () => {
    const shared = [grant('ann', 1, [0, 5], { share: 2 }), grant('ben', 2, [10, 15], { share: 2 })]
    const stolen = [...shared, force([20, 25]), grant('admin', 3, [20, 25])]
    expect(leaseViolations(stolen)).toEqual([])
    expect(leaseViolations([...stolen, grant('cid', 4, [30, 35])])).toHaveLength(1)
    const replaced = { ...force([20, 25]), token: 1 }
    expect(leaseViolations([...shared, replaced, grant('admin', 3, [20, 25])])).toHaveLength(1)
  })

  it('a repeated request is granted the same lease again', () => {
    expect(leaseViolations([grant('ann', 1, [0, 5]), grant('ann', 1, [50, 55])])).toEqual([])
  })

  it('a grant before the end of atLeast is found, also after a release', () => {
    const kept = [grant('ann', 1, [0, 5], { atLeast: 80 }), release('ann', [10, 15])]
    expect(leaseViolations([...kept, grant('ben', 2, [20, 79])])).toHaveLength(1)
    expect(leaseViolations([...kept, grant('ben', 2, [20, 81])])).toEqual([])
    expect(leaseViolations([...kept, force([18, 19]), grant('ben', 2, [20, 25])])).toEqual([])
  })

  it('a grant within lockDelay after an expiry is found, and after a release there is no delay', () => {
    const delayed = grant('ann', 1, [0, 5], { lockDelay: 50 })
    expect(leaseViolations([delayed, grant('ben', 2, [120, 149])])).toHaveLength(1)
    expect(leaseViolations([delayed, grant('ben', 2, [120, 151])])).toEqual([])
    expect(leaseViolations([delayed, release('ann', [10, 15]), grant('ben', 2, [20, 30])])).toEqual([])
  })

  it('a release about the time of the expiry may or may not have prevented lockDelay, by the rate of the clock', () => {
    const delayed = grant('ann', 1, [0, 5], { lockDelay: 50 })
    const releasedAt = (at: number) => [delayed, release('ann', [at, at + 5]), grant('ben', 2, [110, 120])]
    expect(leaseViolations(releasedAt(99.5), { drift: 0.01 })).toEqual([])
    expect(leaseViolations(releasedAt(105.5), { drift: 0.01 })).toEqual([])
    expect(leaseViolations(releasedAt(107), { drift: 0.01 })).toHaveLength(1)
    const early = [delayed, release('ann', [99.5, 104]), grant('ben', 2, [90, 98.5])]
    expect(leaseViolations(early, { drift: 0.01 })).toHaveLength(1)
  })

  it('after a renewal without an answer, a release may have prevented lockDelay', () => {
    const unknown = call('renew', 'ann', [90, Infinity], { ttl: 100 })
    const delayed = [grant('ann', 1, [0, 5], { lockDelay: 50 }), unknown, release('ann', [120, 125])]
    expect(leaseViolations([...delayed, grant('ben', 2, [126, 130])])).toEqual([])
  })

  it('a renewal after the release, and one after the expiry, are found', () => {
    const released = [grant('ann', 1, [0, 5]), release('ann', [10, 15])]
    expect(leaseViolations([...released, renew('ann', 1, [20, 25])])).toEqual([
      "ann's lease of r with token 1 was over at 15 ms, and was renewed at 20 ms",
    ])
    expect(leaseViolations([...released, renew('ann', 1, [14, 25])])).toEqual([])
  })

  it('rates of clocks and late copies of a request widen what is accepted', () => {
    const early = [grant('ann', 1, [0, 5]), grant('ben', 2, [90, 99.5])]
    expect(leaseViolations(early)).toHaveLength(1)
    expect(leaseViolations(early, { drift: 0.01 })).toEqual([])
  })

  it('a clock that counts whole milliseconds may end a lease by one of them too early', () => {
    const early = [grant('ann', 1, [0.9, 5]), grant('ben', 2, [90, 100.1])]
    expect(leaseViolations(early)).toHaveLength(1)
    expect(leaseViolations(early, { resolutionMs: 1 })).toEqual([])
    const earlier = [grant('ann', 1, [0.9, 5]), grant('ben', 2, [90, 99.8])]
    expect(leaseViolations(earlier, { resolutionMs: 1 })).toHaveLength(1)
  })

  it('resources are judged apart', () => {
    expect(leaseViolations([grant('ann', 1, [0, 5]), grant('ben', 1, [6, 8], { resource: 's' })])).toEqual([])
  })
})
