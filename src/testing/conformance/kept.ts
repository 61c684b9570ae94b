/** A resource that is only kept is shown: `read`, `list` and `watch` have a record of state `kept`. */

import type { LeaseRecord, StoreEvent } from '../../core/index.ts'
import { LONG_MS } from '../options.ts'
import { asking, type Case, eventually, grab, granted, listAll, refused } from './case.ts'
import { check, checkEqual } from './check.ts'
import { queued } from './waiter.ts'

export const keptCases: readonly Case[] = [
  {
    title: 'shows a kept resource with its last owner and the time left',
    needs: ['share'],
    async run({ store, peer, supports }) {
      const lease = await grab(store, 'kept:shown', { atLeast: LONG_MS, metadata: { job: 'nightly' } })
      await store.release({ resource: lease.resource, id: lease.id })
      const [found = []] = await peer.read([lease.resource])
      checkKeptRecords(found, [lease], 'what a read shows')
      checkEqual(found[0]?.metadata, { job: 'nightly' }, 'the metadata of the last lease')
      const { holders } = await refused(peer, lease.resource, 'a newcomer')
      checkEqual(holders, [], 'the holders that a refusal names')
      if (!supports.list) return
      const held = await grab(store, 'kept:z')
      const listed = await listAll(peer, 'kept:', 1)
      checkEqual(
        listed.map(({ id, state }) => [id, state]),
        [
          [lease.id, 'kept'],
          [held.id, 'held'],
        ],
        'what a list shows, in pages of 1',
      )
    },
  },
  {
    title: 'shows an expired resource as kept within its lock delay, before and after a sweep',
    needs: ['share', 'expiry'],
    async run(under) {
      const { store, peer, ttl } = under
      const lease = await grab(store, 'kept:delayed', { ttl, lockDelay: LONG_MS })
      await under.pass(ttl * 1.2)
      const [found = []] = await peer.read([lease.resource])
      checkKeptRecords(found, [lease], 'what a read shows')
      await peer.sweep({ limit: 100 })
      const [later = []] = await peer.read([lease.resource])
      checkKeptRecords(later, [lease], 'what a read shows after a sweep')
    },
  },
  {
    title: 'shows kept permits beside live ones, oldest first',
    needs: ['share'],
    async run({ store, peer }) {
      const permit = { share: 3, atLeast: LONG_MS }
      const first = await grab(store, 'kept:permits', permit)
      const second = await grab(peer, 'kept:permits', permit)
      const third = await grab(store, 'kept:permits', permit)
      await peer.release({ resource: second.resource, id: second.id })
      const [found = []] = await store.read([second.resource])
      checkEqual(
        found.map(({ id, state }) => [id, state]),
        [
          [first.id, 'held'],
          [second.id, 'kept'],
          [third.id, 'held'],
        ],
        'what a read shows',
      )
    },
  },
  {
    title: 'shows a kept resource no longer after a steal or a forced release, which names it',
    needs: ['share'],
    async run({ store, peer }) {
      const lease = await grab(store, 'kept:forced', { atLeast: LONG_MS })
      await store.release({ resource: lease.resource, id: lease.id })
      const { ended } = await peer.release({ resource: lease.resource, token: lease.token })
      checkEqual([ended?.id, ended?.state], [lease.id, 'released'], 'what a forced release ended')
      checkEqual(await peer.read([lease.resource]), [[]], 'what a read shows')
      const again = await peer.release({ resource: lease.resource, token: lease.token })
      checkEqual(again.ended, null, 'what a second forced release ended')
      const kept = await grab(store, 'kept:stolen', { atLeast: LONG_MS })
      await store.release({ resource: kept.resource, id: kept.id })
      const thief = granted(await peer.acquire(asking(kept.resource, { replace: 'any' }))).lease
      const [found = []] = await store.read([kept.resource])
      checkEqual(
        found.map(({ id, state }) => [id, state]),
        [[thief.id, 'held']],
        'what a read shows after a steal',
      )
    },
  },
  {
    title: 'shows a resource no longer when its keeping is over',
    needs: ['share'],
    async run(under) {
      const { store, peer, ttl, supports } = under
      const lease = await grab(store, 'kept:over', { atLeast: ttl })
      await store.release({ resource: lease.resource, id: lease.id })
      await under.pass(ttl * 1.2)
      checkEqual(await peer.read([lease.resource]), [[]], 'what a read shows')
      if (supports.list) checkEqual(await listAll(peer, lease.resource, 10), [], 'what a list shows')
    },
  },
  {
    title: 'counts the waiters of a kept resource',
    needs: ['share', 'queue'],
    async run({ store, peer }) {
      const { resource, id } = await grab(store, 'kept:awaited', { atLeast: LONG_MS })
      await store.release({ resource, id })
      await queued(peer, resource, 0)
      const [queue] = (await store.waiting?.({ resources: [resource], limit: 1 })) ?? []
      checkEqual(queue?.count, 1, 'how many wait')
    },
  },
  {
    title: 'tells watchers that a resource is kept, and that it is kept no longer',
    needs: ['share', 'push'],
    async run(under) {
      const { store, peer } = under
      const seen: string[] = []
      const times: (number | null)[] = []
      const watch = await store.watch((event) => {
        seen.push(show(event))
        if (event.type === 'change' && event.lease.state === 'kept') times.push(event.lease.remaining)
      })
      const first = await grab(peer, 'kept:told', { atLeast: LONG_MS })
      await peer.release({ resource: first.resource, id: first.id })
      await eventually(under, 'the keeping is told', () => seen.includes(`${first.token} kept`))
      await peer.release({ resource: first.resource, token: first.token })
      await eventually(
        under,
        'its end is told',
        () => seen.filter((text) => text.endsWith('released')).length > 1,
      )
      const second = await grab(peer, 'kept:told', { atLeast: LONG_MS })
      await peer.release({ resource: second.resource, id: second.id })
      const thief = granted(await peer.acquire(asking(second.resource, { replace: 'any' }))).lease
      await eventually(under, 'the steal is told', () => seen.at(-1) === `${thief.token} held`)
      checkEqual(
        seen,
        [
          ...['held', 'released', 'kept', 'released'].map((state) => `${first.token} ${state}`),
          ...['held', 'released', 'kept', 'taken-over'].map((state) => `${second.token} ${state}`),
          `${thief.token} held`,
        ],
        'the changes',
      )
      for (const remaining of times) checkLeft(remaining, 'the time that a watcher is told')
      await watch[Symbol.asyncDispose]()
    },
  },
]

/** Of these leases, all kept for at most `LONG_MS`. */
function checkKeptRecords(found: readonly LeaseRecord[], leases: readonly LeaseRecord[], what: string): void {
  checkEqual(
    found.map(({ resource, id, owner, token, state }) => ({ resource, id, owner, token, state })),
    leases.map(({ resource, id, owner, token }) => ({ resource, id, owner, token, state: 'kept' })),
    what,
  )
  for (const { remaining } of found) checkLeft(remaining, `${what}: the time left`)
}

function checkLeft(remaining: number | null, what: string): void {
  check(
    remaining !== null && remaining > 0 && remaining <= LONG_MS,
    `${what} is at most ${LONG_MS} ms, got ${remaining}`,
  )
}

function show(event: StoreEvent): string {
  return event.type === 'gap' ? 'gap' : `${event.lease.token} ${event.lease.state}`
}
