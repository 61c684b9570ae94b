import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import {
  ADMIN_TOKEN,
  type Answer,
  Browser,
  type Heard,
  ORIGIN,
  SECRETS,
  type ServiceBed,
  serviceBed,
} from '../../test/server/service-bed.ts'
import { LeaseError } from '../base/errors.ts'
import type { LeaseStore } from '../core/index.ts'
import type { Stats } from '../protocol/index.ts'
import { memoryStore } from '../stores/memory.ts'
import type { Bus, BusMessage } from './bus.ts'
import { memoryBus } from './buses/memory.ts'
import { createLockServer } from './create.ts'

const LOCK = '/api/documents/room-1/lock'

let bed: ServiceBed
let holder: Browser
let heard: Heard[]
let logged: [level: string, status: unknown][]
beforeEach(async () => {
  logged = []
  bed = await serviceBed({ log: (level, _, fields) => logged.push([level, Object(fields).status]) })
  holder = bed.browser('holder')
  heard = bed.socket('room-1')
  await holder.call('POST', LOCK)
})
afterEach(() => bed[Symbol.asyncDispose]())

describe('a request that waits', () => {
  it('a request that waits is answered when it gets the lock, first in, first out', async () => {
    const [first, second] = [bed.browser('first'), bed.browser('second')]
    const waits = [await wait(first, 'Aoi')]
    await bed.clock.advance(1)
    waits.push(await wait(second, 'Ren'))
    await bed.clock.advance(500)
    await eventually(() => expect(toldNames()).toEqual(['Aoi', 'Ren']))
    expect((await holder.call('GET', LOCK)).body).toMatchObject({
      waiting: [{ name: 'Aoi' }, { name: 'Ren' }],
    })
    await holder.call('DELETE', LOCK)
    expect((await waits[0]?.answer)?.status).toBe(200)
    expect((await second.call('GET', LOCK)).body).toMatchObject({ holder: { name: 'Aoi' } })
    await first.call('DELETE', LOCK)
    expect((await waits[1]?.answer)?.status).toBe(200)
    await eventually(async () => expect(await waitingNames()).toEqual([]))
  })

  it('a request that waits gets the lock when the lease of the holder expires', async () => {
    const { answer } = await wait(bed.browser('first'), 'Aoi', 60)
    await bed.clock.advance(30_000)
    expect((await answer).status).toBe(200)
    const events = heard.map(({ event }) => event)
    expect(events.indexOf('document.unlocked')).toBeLessThan(events.lastIndexOf('document.locked'))
  })

  it('a request that waits is refused with its place when the wait is over', async () => {
    const { answer } = await wait(bed.browser('first'), 'Aoi', 4)
    await bed.clock.advance(4000)
    expect((await answer).body).toMatchObject({ error: 'already_locked', place: 0 })
  })

  it('a request that waits is counted as a refusal, in both APIs', async () => {
    const admin = bed.program(ADMIN_TOKEN)
    await bed.browser('other').call('POST', LOCK)
    const ask = { id: 'a', owner: 'x', ttl: 1000 }
    await admin.call('POST', '/api/leases?resource=document:room-1', ask)
    const { buckets } = (await admin.call('GET', '/api/stats')).body as unknown as Stats
    expect(buckets.at(-1)).toMatchObject({ grants: 1, refusals: 2 })
  })

  it('a request that waits waits no longer than maxWait, which the message about an invalid wait names', async () => {
    await using brief = await serviceBed({ settings: { maxWait: 5000 } })
    await brief.browser('holder').call('POST', LOCK)
    const waiting = brief.browser('first').call('POST', `${LOCK}?wait=3600`)
    await eventually(async () =>
      expect((await brief.browser().call('GET', LOCK)).body).toMatchObject({ waiting: [{}] }),
    )
    await brief.clock.advance(5000)
    expect((await waiting).body.error).toBe('already_locked')
    const { body } = await brief.browser().call('POST', `${LOCK}?wait=1e9`)
    expect(body.message).toBe('wait: expected a number of seconds such as 30, of which this server allows 5')
  })

  it('a request that waits keeps its place if the client repeats it', async () => {
    const [first, second] = [bed.browser('first'), bed.browser('second')]
    const early = await wait(first, 'Aoi', 4)
    const late = await wait(second, 'Ren', 20)
    await bed.clock.advance(4000)
    await early.answer
    const again = first.call('POST', `${LOCK}?wait=4`)
    await bed.clock.advance(1000)
    await holder.call('DELETE', LOCK)
    expect((await again).status).toBe(200)
    await first.call('DELETE', LOCK)
    expect((await late.answer).status).toBe(200)
  })

  it('a request that waits is measured from when it took its place, however often the client repeated it', async () => {
    const first = bed.browser('first')
    const { answer } = await wait(first, 'Aoi', 20)
    await bed.clock.advance(20_000)
    await answer
    await holder.call('PUT', LOCK)
    const asked = vi.spyOn(bed.store, 'acquire')
    const again = first.call('POST', `${LOCK}?wait=20`)
    await eventually(() => expect(asked).toHaveBeenCalled())
    await bed.clock.advance(15_000)
    await holder.call('DELETE', LOCK)
    expect((await again).status).toBe(200)
    const { buckets } = Object((await bed.program(ADMIN_TOKEN).call('GET', '/api/stats')).body)
    expect(buckets.at(-1).waits).toMatchObject({ count: 1, p50: 35_000 })
  })

  it('a request that waits loses its place if the client does not repeat it', async () => {
    const { answer } = await wait(bed.browser('first'), 'Aoi', 4)
    await bed.clock.advance(4000)
    await answer
    await bed.clock.advance(3000)
    await eventually(async () => expect(await waitingNames()).toEqual([]))
    await holder.call('DELETE', LOCK)
    expect((await bed.browser('other').call('POST', LOCK)).status).toBe(200)
  })

  it('a request that waits ends when the client disconnects, and leaves its place', async () => {
    const gone = new AbortController()
    const { answer } = await wait(bed.browser('first'), 'Aoi', 30, gone.signal)
    gone.abort()
    expect((await answer).status).toBe(499)
    await eventually(async () => expect(await waitingNames()).toEqual([]))
    await holder.call('DELETE', LOCK)
    expect((await bed.browser('other').call('POST', LOCK)).status).toBe(200)
  })

  it('a request that waits is superseded by a later request of the same tab', async () => {
    const first = bed.browser('first')
    await first.call('GET', LOCK)
    const { answer: earlier } = await wait(first, 'Aoi')
    const later = first.call('POST', `${LOCK}?wait=30`)
    expect((await earlier).body.error).toBe('superseded')
    await holder.call('DELETE', LOCK)
    expect((await later).status).toBe(200)
  })

  it('a request that waits leaves its place to a later request of the same tab at another node', async () => {
    const bus = memoryBus()
    await using here = await serviceBed({ bus })
    const { store, clock } = here
    await using elsewhere = await createLockServer({ store, clock, bus, log: () => {}, settings: SECRETS })
    await here.browser('holder').call('POST', LOCK)
    const tab = here.browser('tab')
    await tab.call('GET', LOCK)
    const moved = new Browser(elsewhere.fetch, { Origin: ORIGIN, 'X-Holdfast-Client': 'tab' })
    moved.cookie = tab.cookie
    const isWaiting = async (count: number) =>
      expect((await here.browser().call('GET', LOCK)).body).toMatchObject({ waiting_count: count })
    const first = tab.call('POST', `${LOCK}?wait=20`)
    await eventually(() => isWaiting(1))
    const second = moved.call('POST', `${LOCK}?wait=60`)
    expect((await first).body.error).toBe('superseded')
    await eventually(() => isWaiting(1))
    await clock.advance(4000)
    expect(await store.waiting?.({ resources: ['document:room-1'], limit: 9 })).toMatchObject([{ count: 1 }])
    await clock.advance(26_000)
    expect((await second).status).toBe(200)
  })

  it.each(['?wait=60', '/request', '/takeover'])(
    'a request with %s ends when its tab gives up at another node, and nothing is granted to it later',
    async (how) => {
      await using nodes = await twoNodes()
      const { here, there, clock, store } = nodes
      const waiting = there.call('POST', `${LOCK}${how}`)
      await nodes.isAsking(how)
      await clock.advance(1)
      expect((await here.call('DELETE', LOCK)).status).toBe(403)
      expect((await waiting).body.error).toBe('withdrawn')
      await nodes.holder.call('DELETE', LOCK)
      await clock.advance(10_000)
      expect((await store.read(['document:room-1']))[0]).toEqual([])
      expect(await store.waiting?.({ resources: ['document:room-1'], limit: 9 })).toMatchObject([
        { count: 0 },
      ])
    },
  )

  it('a request that waits of a tab that has come back is not ended by the late news that it had given up', async () => {
    const late: BusMessage[] = []
    await using nodes = await twoNodes(late)
    const { here, there, clock } = nodes
    await here.call('DELETE', LOCK)
    await clock.advance(1)
    const waiting = there.call('POST', `${LOCK}?wait=60`)
    await nodes.isAsking('?wait=60')
    expect(late).toHaveLength(1)
    for (const message of late) await nodes.bus.publish({ ...message, data: { ...message.data, node: '' } })
    await nodes.holder.call('DELETE', LOCK)
    expect((await waiting).status).toBe(200)
    // Neither is its lock, which it now has.
    await nodes.bus.publish(late[0] as BusMessage)
    expect((await there.call('PUT', LOCK)).status).toBe(200)
  })

  it('a request that waits ends when its tab takes over meanwhile, and does not release that lock', async () => {
    const first = bed.browser('first')
    await first.call('GET', LOCK)
    const { answer } = await wait(first, 'Aoi')
    const taking = first.call('POST', `${LOCK}/takeover`)
    await eventually(() => expect(heard.at(-1)?.event).toBe('document.takeover-requested'))
    await bed.clock.advance(5000)
    expect((await taking).status).toBe(200)
    expect((await answer).body.error).toBe('superseded')
    await bed.clock.advance(4000)
    expect((await first.call('PUT', LOCK)).status).toBe(200)
  })

  it('ends with 503 when the server stops, which is not logged as an error', async () => {
    const { answer } = await wait(bed.browser('first'), 'Aoi')
    await bed.server.close()
    expect((await answer).body.error).toBe('stopping')
    expect((await holder.call('GET', '/readyz')).status).toBe(503)
    expect(logged).toContainEqual(['info', 503])
    expect(logged.map(([level]) => level)).not.toContain('error')
  })

  describe('at a node that stops', () => {
    const RESOURCES = { resources: ['document:room-1'], limit: 9 }
    async function twoNodes() {
      const bus = memoryBus()
      const first = await serviceBed({ bus })
      const { store, clock } = first
      const second = await createLockServer({ store, clock, bus, log: () => {}, settings: SECRETS })
      await first.browser('holder').call('POST', LOCK)
      const elsewhere = (browser: Browser, tab: string) => {
        const moved = new Browser(second.fetch, { Origin: ORIGIN, 'X-Holdfast-Client': tab })
        moved.cookie = browser.cookie
        return moved
      }
      const line = async () => Object((await elsewhere(first.browser(), 'reader').call('GET', LOCK)).body)
      const waiting = async (node: Browser, name: string, count: number) => {
        const answer = node.call('POST', `${LOCK}?wait=40`, { name })
        await eventually(async () => expect(await line()).toMatchObject({ waiting_count: count }))
        await clock.advance(1)
        return answer
      }
      const close = async () => {
        await first.server.close()
        await second.close()
      }
      return { first, second, store, clock, elsewhere, line, waiting, [Symbol.asyncDispose]: close }
    }
    const names = ({ waiting }: { waiting: { name: string }[] }) => waiting.map(({ name }) => name)

    it('it keeps its place, in the store and in the list, and goes on at another node', async () => {
      await using nodes = await twoNodes()
      const { first, store, clock, elsewhere, line } = nodes
      const [aoi, ren] = [first.browser('aoi'), first.browser('ren')]
      await aoi.call('GET', LOCK)
      const stopped = nodes.waiting(aoi, 'Aoi', 1)
      await eventually(async () => expect(await line()).toMatchObject({ waiting_count: 1 }))
      const later = nodes.waiting(elsewhere(ren, 'ren'), 'Ren', 2)
      await eventually(async () => expect(await line()).toMatchObject({ waiting_count: 2 }))
      await first.server.close()
      expect((await stopped).body.error).toBe('stopping')
      await clock.advance(2000)
      const again = elsewhere(aoi, 'aoi').call('POST', `${LOCK}?wait=40`, { name: 'Aoi' })
      await eventually(async () => {
        const shown = await line()
        expect([names(shown), shown.waiting_count]).toEqual([['Aoi', 'Ren'], 2])
      })
      await clock.advance(10_000)
      expect((await store.waiting?.(RESOURCES))?.[0]?.count).toBe(2)
      await clock.advance(20_000)
      expect((await again).status).toBe(200)
      await elsewhere(aoi, 'aoi').call('DELETE', LOCK)
      expect((await later).status).toBe(200)
    })

    it('a place that was kept after a refusal stays too', async () => {
      await using nodes = await twoNodes()
      const { first, store, clock, elsewhere } = nodes
      const aoi = first.browser('aoi')
      const refused = aoi.call('POST', `${LOCK}?wait=4`)
      await eventually(async () => expect(await nodes.line()).toMatchObject({ waiting_count: 1 }))
      await clock.advance(4000)
      expect((await refused).status).toBe(409)
      await first.server.close()
      const again = elsewhere(aoi, 'aoi').call('POST', `${LOCK}?wait=40`)
      await clock.advance(4000)
      expect((await store.waiting?.(RESOURCES))?.[0]?.count).toBe(1)
      await clock.advance(30_000)
      expect((await again).status).toBe(200)
    })

    it('it is told of a grant that comes while the node stops', async () => {
      const { promise: delayed, resolve: arrive } = Promise.withResolvers<void>()
      const memory = memoryStore()
      let isSlow = false
      const acquire: LeaseStore['acquire'] = async (ask) => {
        const answer = await memory.acquire(ask)
        if (isSlow) await delayed
        return answer
      }
      // Without a push, nothing but the answer tells the node of its grant.
      const store = { ...memory, acquire, supports: { ...memory.supports, push: false } }
      await using slow = await serviceBed({ store })
      const [owner, next] = [slow.browser('owner'), slow.browser('next')]
      await owner.call('POST', LOCK)
      const answer = next.call('POST', `${LOCK}?wait=40`)
      await eventually(async () =>
        expect((await owner.call('GET', LOCK)).body).toMatchObject({ waiting_count: 1 }),
      )
      isSlow = true
      await owner.call('DELETE', LOCK)
      await eventually(async () => expect(await memory.read(['document:room-1'])).toMatchObject([[{}]]))
      await slow.server.close()
      arrive()
      expect((await answer).status).toBe(200)
    })
  })

  it('a request that waits waits on while the store is away', async () => {
    const acquire = vi.spyOn(bed.store, 'acquire')
    const { answer } = await wait(bed.browser('first'), 'Aoi', 20)
    acquire.mockRejectedValue(new LeaseError('store-unavailable', 'Redis: the connection is down'))
    await bed.clock.advance(12_000)
    expect(acquire.mock.calls.length).toBeGreaterThan(3)
    acquire.mockRestore()
    await holder.call('DELETE', LOCK)
    await bed.clock.advance(1000)
    expect((await answer).status).toBe(200)
  })

  it('a request that waits is told that the store is away when the wait is over', async () => {
    const { answer } = await wait(bed.browser('first'), 'Aoi', 20)
    const unavailable = new LeaseError('store-unavailable', 'Redis: the connection is down')
    vi.spyOn(bed.store, 'acquire').mockRejectedValue(unavailable)
    await bed.clock.advance(21_000)
    expect((await answer).body.error).toBe('store_unavailable')
  })

  it('a request that waits is refused if too many of one address wait, whatever their rooms and sessions are', async () => {
    const clientOf = (request: Request) => request.headers.get('x-address') ?? undefined
    await using narrow = await serviceBed({ clientOf, settings: { maxWaitersOfAddress: 1 } })
    const wait = (address: string, room: string, path = '?wait=30') =>
      narrow
        .browser(`tab-${room}`)
        .call('POST', `/api/documents/${room}/lock${path}`, undefined, { headers: { 'X-Address': address } })
    for (const room of ['a', 'b']) await narrow.browser('holder').call('POST', `/api/documents/${room}/lock`)
    const answers = [wait('1.1.1.1', 'a')]
    const waiting = async (room: string) =>
      expect((await narrow.browser().call('GET', `/api/documents/${room}/lock`)).body).toMatchObject({
        waiting_count: 1,
      })
    await eventually(() => waiting('a'))
    for (const path of ['?wait=30', '/takeover', '/request'])
      expect(await wait('1.1.1.1', 'b', path)).toMatchObject({
        status: 429,
        body: { error: 'too_many_waiters', message: expect.stringContaining('from your address') },
      })
    answers.push(wait('2.2.2.2', 'b'))
    await eventually(() => waiting('b'))
    await narrow.clock.advance(30_000)
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200])
    expect((await wait('1.1.1.1', 'c')).status).toBe(200)
  })

  it('a request that waits is refused if too many wait for one room', async () => {
    await using narrow = await serviceBed({ settings: { maxWaiters: 1 } })
    await narrow.browser('holder').call('POST', LOCK)
    const [first, second] = [narrow.browser('first'), narrow.browser('second')]
    const answer = first.call('POST', `${LOCK}?wait=30`)
    await eventually(async () =>
      expect((await second.call('GET', LOCK)).body).toMatchObject({ waiting_count: 1 }),
    )
    for (const path of [`${LOCK}?wait=30`, `${LOCK}/takeover`, `${LOCK}/request`]) {
      const refused = await second.call('POST', path)
      expect([refused.status, refused.body.error]).toEqual([429, 'too_many_waiters'])
      expect(refused.headers.get('retry-after')).toBe('5')
    }
    expect((await second.call('POST', '/api/documents/room-2/lock?wait=30')).status).toBe(200)
    await narrow.clock.advance(30_000)
    await answer
  })

  it('a request that waits ends after maxWait, even if it asked for more', async () => {
    const { answer } = await wait(bed.browser('first'), 'Aoi', 600)
    for (let n = 0; n < 6; n++) {
      await holder.call('PUT', LOCK)
      await bed.clock.advance(10_000)
    }
    expect((await answer).status).toBe(409)
  })
})

/** Two nodes of one service: a holder, and one tab that can call both. `late` gets withdrawals instead of the nodes. */
async function twoNodes(late?: BusMessage[]) {
  const bus = memoryBus()
  const withholding: Bus = {
    ...bus,
    publish: async (message) => {
      if (late && message.topic === 'withdrawal') late.push(message)
      else await bus.publish(message)
    },
  }
  const first = await serviceBed({ bus: withholding })
  const { store, clock } = first
  const second = await createLockServer({ store, clock, bus, log: () => {}, settings: SECRETS })
  const [holder, here] = [first.browser('holder'), first.browser('tab')]
  const events = first.socket('room-1')
  await holder.call('POST', LOCK)
  await here.call('GET', LOCK)
  const there = new Browser(second.fetch, { Origin: ORIGIN, 'X-Holdfast-Client': 'tab' })
  there.cookie = here.cookie
  return {
    here,
    there,
    holder,
    store,
    clock,
    bus,
    isAsking: (how: string) =>
      eventually(() =>
        expect(events.map(({ event }) => event)).toContain(
          how.startsWith('?') ? 'document.line' : 'document.takeover-requested',
        ),
      ),
    async [Symbol.asyncDispose]() {
      await second.close()
      await first[Symbol.asyncDispose]()
    },
  }
}

/** Resolves when the waiter is on the list. */
async function wait(
  browser: Browser,
  name: string,
  seconds = 30,
  signal?: AbortSignal,
): Promise<{ readonly answer: Promise<Answer> }> {
  const answer = browser.call('POST', `${LOCK}?wait=${seconds}`, { name }, signal && { signal })
  await eventually(async () => expect(await waitingNames()).toContain(name))
  return { answer }
}

async function waitingNames(): Promise<string[]> {
  const { waiting } = Object((await holder.call('GET', LOCK)).body)
  return waiting.map(({ name }: { name: string }) => name)
}

/** The names on the queue, as the room was last told. */
function toldNames(): string[] {
  const last = heard.findLast(({ event }) => event === 'document.line')?.data ?? {}
  return (Object(last).line ?? []).map(({ name }: { name: string }) => name)
}
