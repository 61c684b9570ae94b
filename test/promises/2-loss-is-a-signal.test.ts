import { describe, expect, it } from 'vitest'
import { pause } from '../../src/base/pause.ts'
import { LeaseError } from '../../src/core/index.ts'
import { setUp } from './set-up.ts'

describe('promise 2, loss is a signal', () => {
  it('a manager keeps a lease alive by its heartbeat', async () => {
    const { clock, leases, events } = setUp()
    const lease = await leases.acquire('r', { ttl: 3000 })
    await clock.advance(60_000)
    expect(lease.held).toBe(true)
    expect(events.filter(({ type }) => type === 'renewed').length).toBe(60)
    expect(events.some(({ type }) => type === 'warning' || type === 'error')).toBe(false)
  })

  it('renews at other times than those whose renewals collided with its own', async () => {
    const { clock, network, leases } = setUp()
    const { renew } = network
    const sent: number[] = []
    let free = 0
    // One write after the other, as in a document that all holders share.
    network.renew = async (ask, call) => {
      sent.push(clock.monotonic() - started)
      free = Math.max(free, clock.monotonic()) + 50
      await pause(clock, free - clock.monotonic())
      return renew(ask, call)
    }
    const started = clock.monotonic()
    await Promise.all([1, 2, 3].map(() => leases.acquire('r', { ttl: 3000, share: 3 })))
    await clock.advance(2200)
    expect(sent.map(Math.floor)).toEqual([1000, 1000, 1000, 2050, 2100, 2150])
  })

  it('a manager tells the loss no later than the deadline when the store never answers', async () => {
    const { clock, network, leases, events } = setUp()
    const lease = await leases.acquire('r', { ttl: 3000 })
    network.faults = { loseRequest: 1 }
    const started = clock.monotonic()
    let lostAt = Infinity
    lease.signal.addEventListener('abort', () => {
      lostAt = clock.monotonic() - started
    })
    await clock.advance(10_000)
    expect(lostAt).toBeLessThanOrEqual(3000 * 0.98)
    expect(lostAt).toBeGreaterThan(3000 * 0.95)
    expect(lease.signal.reason).toBeInstanceOf(LeaseError)
    expect(lease.signal.reason).toMatchObject({ code: 'lease-lost', resource: 'r' })
    expect(events.at(-1)).toMatchObject({ type: 'lost', reason: 'deadline', token: lease.token })
  })

  it('says that the process was stopped if no renewal was due before the deadline, and not without a heartbeat', async () => {
    const { clock, leases } = setUp()
    const kept = await leases.acquire('kept', { ttl: 3000 })
    const plain = await leases.acquire('plain', { ttl: 3000, heartbeat: false })
    clock.jump(60_000)
    expect([kept.held, plain.held]).toEqual([false, false])
    expect(kept.signal.reason.message).toBe(
      'the lease of kept was lost (deadline): this process was busy or stopped',
    )
    expect(plain.signal.reason.message).toBe('the lease of plain was lost (deadline)')
  })

  it('a manager asks every sixth of the TTL while no answer comes', async () => {
    const { clock, network, leases } = setUp()
    await leases.acquire('r', { ttl: 3000 })
    const sent: number[] = []
    network.renew = () => {
      sent.push(clock.monotonic())
      return new Promise(() => {})
    }
    const started = clock.monotonic()
    await clock.advance(10_000)
    expect(sent.map((at) => Math.floor(at - started))).toEqual([1000, 1500, 2000, 2500])
  })

  it('a manager gives a lost lease back when the work has ended, though the store still counts it', async () => {
    const { clock, network, leases, store } = setUp()
    const lease = await leases.acquire('r', { ttl: 30_000 })
    network.faults = { loseRequest: 1 }
    await clock.advance(29_400)
    expect([lease.held, (await store.read(['r']))[0]?.[0]?.id]).toEqual([false, lease.id])
    network.faults = {}
    await lease.release()
    await clock.advance(0)
    expect(await store.read(['r'])).toEqual([[]])
  })

  it('a manager warns when a third of the TTL is left, and only once', async () => {
    const { clock, network, leases, events } = setUp()
    await leases.acquire('r', { ttl: 3000 })
    network.faults = { loseRequest: 1 }
    await clock.advance(1939)
    expect(events.some(({ type }) => type === 'warning')).toBe(false)
    await clock.advance(2)
    expect(events.filter(({ type }) => type === 'warning')).toMatchObject([{ code: 'lease-in-danger' }])
    await clock.advance(5000)
    expect(events.filter(({ type }) => type === 'warning').length).toBe(1)
  })

  it('a manager retries failed renewals until one succeeds', async () => {
    const { clock, network, leases, events } = setUp()
    const lease = await leases.acquire('r', { ttl: 30_000 })
    network.faults = { failBefore: 1 }
    await clock.advance(20_000)
    network.faults = {}
    await clock.advance(60_000)
    expect(lease.held).toBe(true)
    expect(events.filter(({ type }) => type === 'error').length).toBeGreaterThan(3)
  })

  it('a manager sends a renewal again when no answer comes, and takes a late answer as well', async () => {
    const { clock, network, leases } = setUp()
    const lease = await leases.acquire('r', { ttl: 3000 })
    network.faults = { delay: [600, 600] }
    await clock.advance(2300)
    network.faults = { loseRequest: 1 }
    await clock.advance(1500)
    expect(lease.held).toBe(true)
    await clock.advance(2000)
    expect(lease.held).toBe(false)
  })

  it('a lease is lost at once when a renewal is refused', async () => {
    const { clock, leases, store, events } = setUp({ quietLoss: true })
    const lease = await leases.acquire('r', { ttl: 3000 })
    await store.release({ resource: 'r', token: lease.token })
    await clock.advance(1000)
    expect(lease.signal.aborted).toBe(true)
    expect(events.at(-1)).toMatchObject({ type: 'lost', reason: 'refused' })
    await expect(lease.renew()).rejects.toMatchObject({ code: 'lease-lost' })
  })

  it('a lease is lost at once when the store tells that it was ended', async () => {
    const { clock, leases, store, events } = setUp()
    const lease = await leases.acquire('r')
    await store.release({ resource: 'r', token: lease.token })
    await clock.advance(0)
    expect(lease.held).toBe(false)
    expect(events.at(-1)).toMatchObject({ type: 'lost', reason: 'ended' })
  })

  it('the error of a loss has the reason of the event, such as that another caller ended the lease', async () => {
    const { clock, network, leases, store } = setUp()
    const ended = await leases.acquire('ended', { ttl: 3000 })
    const silent = await leases.acquire('silent', { ttl: 3000 })
    network.faults = { failBefore: 1 }
    await clock.advance(1100)
    await store.release({ resource: 'ended', token: ended.token })
    await clock.advance(3000)
    expect(ended.signal.reason).toMatchObject({
      code: 'lease-lost',
      reason: 'ended',
      message: 'the lease of ended was lost (ended)',
    })
    expect(silent.signal.reason).toMatchObject({ code: 'lease-lost', reason: 'deadline' })
  })

  it('a lease stays lost, whatever comes later', async () => {
    const { clock, network, leases } = setUp()
    const lease = await leases.acquire('r', { ttl: 3000 })
    network.faults = { delay: [900, 900] }
    await clock.advance(1000)
    network.faults = { loseRequest: 1 }
    clock.jump(10_000)
    expect(lease.held).toBe(false)
    await clock.advance(3000)
    expect(lease.held).toBe(false)
  })

  it('a manager gives up renewing when the retry option says so', async () => {
    const { clock, network, leases, events } = setUp()
    const retry = (failures: number) => (failures < 3 ? 100 : null)
    const lease = await leases.acquire('r', { ttl: 3000, retry })
    network.faults = { failBefore: 1 }
    await clock.advance(1300)
    expect(lease.signal.aborted).toBe(true)
    expect(events.at(-1)).toMatchObject({ type: 'lost', reason: 'gave-up' })
    expect(lease.signal.reason.cause).toMatchObject({ code: 'store-unavailable' })
  })

  it('a manager renews on demand where there is no heartbeat', async () => {
    const { clock, leases } = setUp()
    const lease = await leases.acquire('r', { ttl: 3000, heartbeat: false })
    const before = lease.expiresAt as number
    await clock.advance(2000)
    await lease.renew()
    expect(lease.expiresAt).toBe(before + 2000)
    await clock.advance(2500)
    expect(lease.held).toBe(true)
    await clock.advance(600)
    expect(lease.held).toBe(false)
  })
})
