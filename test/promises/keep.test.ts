import { describe, expect, it, vi } from 'vitest'
import { moment } from '../../src/base/clock.ts'
import { type KeepLeaseOptions, keepLease } from '../../src/core/keep-lease.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { chaosStore, FakeClock } from '../../src/testing/index.ts'

describe('a lease that was granted elsewhere', () => {
  it('a lease that was granted elsewhere is kept alive by its heartbeat, and released', async () => {
    const { clock, memory, keep } = await setUp()
    const kept = keep()
    await clock.advance(60_000)
    expect(kept?.isHeld()).toBe(true)
    await kept?.release()
    expect(await memory.read(['r'])).toEqual([[]])
  })

  it('a lease that was granted elsewhere is lost by its deadline, counted from before the request', async () => {
    const { clock, network, keep, lostAt } = await setUp()
    const sent = moment(clock)
    await clock.advance(1000)
    const kept = keep({ sent })
    network.faults = { loseRequest: 1 }
    await clock.advance(10_000)
    expect(kept?.isHeld()).toBe(false)
    expect(lostAt() - sent.mono).toBeLessThanOrEqual(3000 * 0.98)
  })

  it('a lease that was granted elsewhere is none when the grant came after its own deadline', async () => {
    const { clock, keep } = await setUp()
    const sent = moment(clock)
    await clock.advance(2950)
    expect(keep({ sent })).toBeNull()
  })

  it('a lease that was granted elsewhere is lost at once when the other side ends it', async () => {
    const { keep, events } = await setUp()
    const kept = keep()
    kept?.lose('ended')
    expect(kept?.isHeld()).toBe(false)
    expect(events()).toMatchObject([{ type: 'lost', reason: 'ended' }])
  })
})

async function setUp() {
  const clock = new FakeClock()
  const memory = memoryStore({ clock })
  const network = chaosStore(memory, { clock })
  const answer = await memory.acquire({ resource: 'r', id: 'a', owner: 'me', ttl: 3000 })
  if (!answer.granted) throw new Error('not granted')
  let lost = Number.NaN
  const onEvent = vi.fn<KeepLeaseOptions['onEvent']>(({ type }) => {
    if (type === 'lost') lost = clock.monotonic()
  })
  return {
    clock,
    memory,
    network,
    lostAt: () => lost,
    events: () => onEvent.mock.calls.map(([event]) => event),
    keep: ({ sent = moment(clock) } = {}) =>
      keepLease(network, answer.lease, { ttl: 3000, heartbeat: 1000, clock, sent, onEvent }),
  }
}
