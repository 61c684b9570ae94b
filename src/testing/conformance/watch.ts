import type { StoreEvent } from '../../core/index.ts'
import { LONG_MS } from '../options.ts'
import { asking, type Case, eventually, grab, granted } from './case.ts'
import { check, checkEqual } from './check.ts'

export const watchCases: readonly Case[] = [
  {
    title: 'tells watchers of every change, no matter who made it',
    needs: ['push'],
    async run(under) {
      const { store, peer } = under
      const seen: string[] = []
      const watch = await store.watch((event) => seen.push(show(event)))
      const lease = await grab(peer, 'watched')
      await eventually(under, 'the grant is told', () => seen.includes(`watched ${lease.token} held`))
      await peer.release({ resource: 'watched', id: lease.id })
      await eventually(under, 'the release is told', () => seen.at(-1) === `watched ${lease.token} released`)
      const own = await grab(store, 'watched')
      await eventually(under, 'its own grant is told', () => seen.at(-1) === `watched ${own.token} held`)
      const taken = granted(await peer.acquire(asking('watched', { replace: own.token }))).lease
      await eventually(under, 'the takeover is told', () => seen.at(-1) === `watched ${taken.token} held`)
      const told = seen.indexOf(`watched ${own.token} taken-over`)
      check(
        told >= 0 && told < seen.length - 1,
        `the end of token ${own.token} is told before the grant of token ${taken.token}, got ${seen.join(', ')}`,
      )
      await watch[Symbol.asyncDispose]()
    },
  },
  {
    title: 'tells the changes of a resource in their order',
    needs: ['push'],
    async run(under) {
      const { store, peer } = under
      const seen: string[] = []
      const watch = await store.watch((event) => seen.push(show(event)))
      const expected: string[] = []
      for (let round = 0; round < 5; round++) {
        const { id, token } = await grab(peer, 'in order')
        await peer.renew({ resource: 'in order', id, ttl: LONG_MS * 2 })
        await peer.release({ resource: 'in order', id })
        expected.push(...['held', 'held', 'released'].map((state) => `in order ${token} ${state}`))
      }
      await eventually(under, 'the last release is told', () => seen.at(-1) === expected.at(-1))
      checkEqual(seen, expected, 'the changes')
      await watch[Symbol.asyncDispose]()
    },
  },
  {
    title: 'tells watchers nothing after close',
    needs: ['push'],
    async run(under) {
      const { store, peer } = under
      if (!under.hasPeer) return
      const seen: string[] = []
      const others: string[] = []
      const watch = await peer.watch((event) => others.push(show(event)))
      await store.watch((event) => seen.push(show(event)))
      await store.close()
      seen.length = 0
      await grab(peer, 'unseen')
      await eventually(under, 'the other store tells of the grant', () => others.length > 0)
      await under.pass(100)
      checkEqual(seen, [], 'what the closed store told')
      await watch[Symbol.asyncDispose]()
    },
  },
  {
    title: 'tells watchers of renewals',
    needs: ['push'],
    async run(under) {
      const { store, peer } = under
      const { id, token } = await grab(peer, 'renewed')
      const seen: string[] = []
      const watch = await store.watch((event) => seen.push(show(event)))
      for (let beats = 1; beats <= 2; beats++) {
        await peer.renew({ resource: 'renewed', id, ttl: LONG_MS * (1 + beats) })
        await eventually(
          under,
          'the renewal is told',
          () => seen.filter((text) => text === `renewed ${token} held`).length >= beats,
        )
      }
      await watch[Symbol.asyncDispose]()
    },
  },
  {
    title: 'tells watchers of what expired',
    needs: ['push', 'expiry'],
    async run(under) {
      const { store, peer, ttl } = under
      const seen: string[] = []
      const old = await grab(peer, 'lapsing', { ttl })
      const watch = await store.watch((event) => seen.push(show(event)))
      await under.pass(ttl * 1.5)
      await peer.sweep({ limit: 10 })
      await eventually(under, 'the sweep is told', () => seen.includes(`lapsing ${old.token} expired`))
      await watch[Symbol.asyncDispose]()
    },
  },
  {
    title: 'tells a watcher of its prefix only, and nothing after it has ended',
    needs: ['push'],
    async run(under) {
      const { store, peer } = under
      const seen: string[] = []
      const all: string[] = []
      const narrow = await store.watch((event) => seen.push(show(event)), { prefix: 'a%_*' })
      const wide = await store.watch((event) => all.push(show(event)))
      await grab(peer, 'abc')
      const inside = await grab(peer, 'a%_*1')
      await eventually(under, 'both grants are told', () => all.length >= 2 && seen.length >= 1)
      checkEqual(seen, [`a%_*1 ${inside.token} held`], 'the events of the prefix')
      await narrow[Symbol.asyncDispose]()
      await peer.renew({ resource: 'a%_*1', id: inside.id, ttl: LONG_MS })
      await eventually(under, 'the renewal is told', () => all.length >= 3)
      checkEqual(seen.length, 1, 'events after the watch has ended')
      await wide[Symbol.asyncDispose]()
    },
  },
  {
    title: 'goes on after a listener threw',
    needs: ['push'],
    async run(under) {
      const { store } = under
      let seen = 0
      const bad = await store.watch(() => {
        throw new Error('a bad listener')
      })
      const good = await store.watch(() => seen++)
      const lease = await grab(store, 'thrown')
      await store.release({ resource: 'thrown', id: lease.id })
      await eventually(under, 'the other listener hears all', () => seen === 2)
      await Promise.all([bad[Symbol.asyncDispose](), good[Symbol.asyncDispose]()])
    },
  },
  {
    title: 'tells of a gap after an interruption, and goes on',
    needs: ['push', 'interruptWatch'],
    async run(under) {
      const { store, peer } = under
      const seen: string[] = []
      const other: string[] = []
      const watch = await store.watch((event) => seen.push(show(event)))
      const second = await store.watch((event) => other.push(show(event)))
      const interrupted = under.interruptWatch()
      const during = await grab(peer, 'during')
      await interrupted
      // A store that misses nothing need not tell of a gap.
      const told = (events: readonly string[]) =>
        events.includes('gap') || events.includes(`during ${during.token} held`)
      await eventually(under, 'every watcher is told of the gap', () => told(seen) && told(other))
      await second[Symbol.asyncDispose]()
      // An interruption may last: what falls into the rest of it is told as another gap.
      let isTold = false
      for (let n = 0; n < 5 && !isTold; n++) {
        seen.length = 0
        const { token } = await grab(peer, `after:${n}`)
        const held = `after:${n} ${token} held`
        // The change during the interruption may be told as well, and late.
        await eventually(under, 'a later change is told', () => seen.includes(held) || seen.includes('gap'))
        isTold = seen.includes(held)
      }
      check(isTold, 'the watch tells of changes again, and not only of gaps')
      await watch[Symbol.asyncDispose]()
    },
  },
]

function show(event: StoreEvent): string {
  if (event.type === 'gap') return 'gap'
  const { resource, token, state } = event.lease
  return `${resource} ${token} ${state}`
}
