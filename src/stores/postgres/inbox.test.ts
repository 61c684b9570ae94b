import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ListenerHooks } from './client.ts'
import { Inbox } from './inbox.ts'
import type { Queries } from './queries.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** An inbox on a server that can be away, or deliver nothing. */
function setUp() {
  const world = {
    away: false,
    delivers: true,
    stopped: false,
    needed: true,
    opened: 0,
    checked: 0,
    attempts: 0,
    open: 0,
  }
  let hooks: ListenerHooks | undefined
  let deliver = () => {}
  const inbox = new Inbox({
    listen: async (given) => {
      world.attempts++
      if (world.away) throw new Error('ECONNREFUSED')
      world.open++
      hooks = given
      return {
        pid: 7,
        listen: async () => {},
        unlisten: async () => {},
        keepAlive: () => {},
        close: () => {
          world.open--
          return world.stopped ? new Promise(() => {}) : Promise.resolve()
        },
      }
    },
    queries: () =>
      ({
        async probe(channel: string, payload: string) {
          if (world.away) throw new Error('ECONNREFUSED')
          deliver = () => hooks?.heard(channel, payload)
          if (world.delivers) deliver()
          return 5
        },
      }) as Partial<Queries> as Queries,
    needed: () => world.needed,
    heard: () => {},
    opened: () => world.opened++,
    checked: () => world.checked++,
  })
  return { world, inbox, drop: () => hooks?.dropped(), deliver: () => deliver() }
}

describe('the inbox of a Postgres store', () => {
  it('opens once for all who need it, and says where it hears', async () => {
    const { world, inbox } = setUp()
    const addresses = await Promise.all([inbox.ready(100), inbox.ready(100)])
    expect(addresses[0]).toMatch(/^holdfast_\w{32} 7 5$/)
    expect(addresses[1]).toBe(addresses[0])
    expect(world).toMatchObject({ attempts: 1, opened: 1, open: 1 })
  })

  it('goes on trying, with longer pauses, while somebody needs it', async () => {
    const { world, inbox } = setUp()
    world.away = true
    expect(await inbox.ready(100)).toBe(null)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(world.attempts).toBeLessThan(12)
    world.away = false
    await vi.advanceTimersByTimeAsync(5000)
    expect(inbox.address).not.toBe(null)
    expect(world.opened).toBe(1)
  })

  it('stops trying when nobody needs it, and starts again', async () => {
    const { world, inbox } = setUp()
    world.away = true
    world.needed = false
    expect(await inbox.ready(100)).toBe(null)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(world.attempts).toBe(1)
    world.away = false
    expect(await inbox.ready(100)).not.toBe(null)
  })

  it('opens again after it was dropped', async () => {
    const { world, inbox, drop } = setUp()
    await inbox.ready(100)
    drop()
    expect(inbox.address).toBe(null)
    await vi.advanceTimersByTimeAsync(0)
    expect(inbox.address).not.toBe(null)
    expect(world).toMatchObject({ opened: 2, open: 1 })
  })

  it('is deaf where nothing is delivered, and tries that again only now and then', async () => {
    const { world, inbox } = setUp()
    world.delivers = false
    const ready = inbox.ready(60_000)
    await vi.advanceTimersByTimeAsync(2001)
    expect(await ready).toBe(null)
    expect(inbox.deaf).toBe(true)
    expect(await inbox.ready(60_000)).toBe(null)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(world).toMatchObject({ attempts: 1, open: 0 })
    world.delivers = true
    await vi.advanceTimersByTimeAsync(15_000)
    expect(inbox.deaf).toBe(false)
    expect(inbox.address).not.toBe(null)
  })

  it('is not deaf when the process stood still until the time to hear was over', async () => {
    const { world, inbox, deliver } = setUp()
    world.delivers = false
    const ready = inbox.ready(60_000)
    await vi.advanceTimersByTimeAsync(2000)
    deliver()
    expect(await ready).not.toBe(null)
  })

  it('is not deaf for ever when nobody needed it for a while', async () => {
    const { world, inbox } = setUp()
    world.delivers = false
    world.needed = false
    const ready = inbox.ready(60_000)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await ready).toBe(null)
    world.delivers = true
    expect(await inbox.ready(100)).not.toBe(null)
  })

  it('finds out by itself that it does not hear any more', async () => {
    const { world, inbox } = setUp()
    await inbox.ready(100)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(world).toMatchObject({ checked: 3, opened: 1 })
    world.delivers = false
    await vi.advanceTimersByTimeAsync(12_001)
    expect(inbox.address).toBe(null)
  })

  it('is not given up because the ordinary client does not answer', async () => {
    const { world, inbox } = setUp()
    await inbox.ready(100)
    world.away = true
    await vi.advanceTimersByTimeAsync(30_000)
    expect(inbox.address).not.toBe(null)
  })

  it('closes soon after nobody needs it', async () => {
    const { world, inbox } = setUp()
    await inbox.ready(100)
    world.needed = false
    await vi.advanceTimersByTimeAsync(10_000)
    expect(inbox.address).toBe(null)
    expect(world).toMatchObject({ attempts: 1, open: 0 })
  })

  it('is closed also when the server has stopped', async () => {
    const { world, inbox } = setUp()
    await inbox.ready(100)
    world.stopped = true
    const closed = inbox.close()
    await vi.advanceTimersByTimeAsync(1000)
    await closed
  })

  it('opens no more once it was closed, also when it was just opening', async () => {
    const { world, inbox } = setUp()
    const ready = inbox.ready(100)
    await inbox.close()
    expect(await ready).toBe(null)
    expect(await inbox.ready(100)).toBe(null)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(world).toMatchObject({ attempts: 1, opened: 0, open: 0 })
  })
})
