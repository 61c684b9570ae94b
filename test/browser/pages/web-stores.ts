/** What the tests of the web stores do inside a page. */
import {
  type Ask,
  createLeases,
  type Lease,
  type LeaseRecord,
  type LeaseStore,
  type Leases,
  systemClock,
} from '../../../src/core/index.ts'
import { directoryStore, webLockStore, webStore } from '../../../src/stores/web/index.ts'
import { describeStore } from '../../../src/testing/index.ts'
import { HANG_MS } from '../../hang-limit.ts'
import { platformCases } from '../../web/platform-contract.ts'

let store: LeaseStore
let leases: Leases
let several: LeaseStore[] = []
let held: Lease | undefined
let isWaiting = false
const replaced: LeaseRecord[] = []
const woken = new Set<string>()

export const scenarios = {
  /** Opens the store of the following scenarios. All tabs share it. */
  async open(kind: 'locks' | 'directory' | 'default', ttl = HANG_MS, takeoverAfter = 30_000) {
    const stores = {
      locks: () => webLockStore({ prefix: 'shared:', takeoverAfter }),
      // Any directory handle works: one that the user picked, or, as here, one in the private directory.
      directory: () =>
        directoryStore(async () => (await opfs()).getDirectoryHandle('picked', { create: true })),
      default: () => webStore(),
    }
    store = stores[kind]()
    leases = createLeases(store, { ttl })
    leases.subscribe((event) => {
      if (event.type === 'expired') replaced.push(event.lease)
      if (event.type === 'waiting') isWaiting = true
    })
    return store.kind
  },

  /** The same for requests at the store itself. Its clock stands still, so that no turn is missed on a busy machine. */
  async openStill(kind: 'locks' | 'directory') {
    const clock = { ...systemClock, now: () => Date.UTC(2030, 0, 1) }
    store =
      kind === 'locks'
        ? webLockStore({ prefix: 'still:', clock })
        : directoryStore(opfs, { file: 'still.json', clock })
  },

  /** Stores like those of separate tabs, without leases. Their clock stands still as well. */
  async openSeveral(count: number) {
    const clock = { ...systemClock, now: () => Date.UTC(2030, 0, 1) }
    const prefix = `several-${crypto.randomUUID()}:`
    several = Array.from({ length: count }, () => webLockStore({ prefix, clock }))
  },

  async closeSeveral() {
    for (const store of several) await store.close()
  },

  async askOne(index: number, ask: Ask, waits: boolean) {
    return several[index]?.acquire({ ...ask, ...(waits && { wake() {} }) })
  },

  async callOne(index: number, method: 'renew' | 'release' | 'read' | 'list' | 'sweep', request: unknown) {
    return several[index]?.[method](request as never)
  },

  async acquire(owner: string) {
    held = await leases.acquire('page', { owner, wait: HANG_MS, metadata: { owner } })
    return { token: held.token, replaced: replaced.at(-1)?.owner ?? null }
  },

  async release() {
    await held?.release()
  },

  /** One request at the store itself. Not every browser driver can pass `Infinity`. */
  async ask(id: string, more: { share?: number | 'unlimited'; atLeast?: number; lockDelay?: number } = {}) {
    woken.delete(id)
    const { share, ...rest } = more
    const answer = await store.acquire({
      resource: 'shared page',
      id,
      owner: id,
      ttl: HANG_MS,
      ...rest,
      ...(share !== undefined && { share: share === 'unlimited' ? Infinity : share }),
      wake: (inMs) => inMs === 0 && woken.add(id),
    })
    if (answer.granted) return 'granted'
    return answer.keptFor === undefined ? `place ${answer.place}` : `kept, place ${answer.place}`
  },

  async leave(id: string) {
    await store.release({ resource: 'shared page', id })
  },

  async isWoken(id: string) {
    return woken.has(id)
  },

  async owners() {
    const [found = []] = await store.read(['shared page'])
    return found.map(({ owner }) => owner)
  },

  /** Permits stay counted, though their rows are gone. */
  async clearRecords() {
    const store = webLockStore({ prefix: 'cleared:' })
    const ask = (id: string, more: object) =>
      store.acquire({ resource: 'r', id, owner: id, ttl: HANG_MS, ...more })
    await ask('a', { share: 2 })
    await ask('b', { share: 2 })
    await deleteRows('cleared:')
    const peer = webLockStore({ prefix: 'cleared:' })
    const asPeer = (id: string, more: object) =>
      peer.acquire({ resource: 'r', id, owner: id, ttl: HANG_MS, ...more })
    const refused = [
      await asPeer('c', { share: 2 }),
      await asPeer('d', { share: Infinity }),
      await asPeer('e', {}),
    ]
    await store.release({ resource: 'r', id: 'a' })
    const granted = await asPeer('f', { share: 2 })
    await Promise.all([store.close(), peer.close()])
    return [...refused, granted].map((answer) => answer.granted)
  },

  /** Somebody else, such as an older version of this page, holds the lock of the resource. */
  async holdByStranger() {
    const store = webLockStore({ prefix: 'stranger:' })
    const { promise, resolve: letGo } = Promise.withResolvers<void>()
    const strange = navigator.locks.request('stranger:r', { mode: 'shared' }, () => promise)
    const ask = (id: string, more: object = {}) =>
      store.acquire({ resource: 'r', id, owner: id, ttl: HANG_MS, ...more })
    const answers = [await ask('a'), await ask('a', { wake() {} })]
    letGo()
    await strange
    answers.push(await ask('b'), await ask('a', { wake() {} }))
    await store.close()
    return answers.map((answer) => (answer.granted ? 'granted' : answer.place))
  },

  /** A lease was ended by force, and its tab is frozen: its part of the shared lock is still held. */
  async evictFrozen() {
    const [store, peer] = [webLockStore({ prefix: 'frozen:' }), webLockStore({ prefix: 'frozen:' })]
    const ask = (id: string, share?: number) =>
      store.acquire({ resource: 'r', id, owner: id, ttl: HANG_MS, share })
    const first = await ask('a', 2)
    await ask('b', 2)
    const stop = new AbortController()
    const frozen = navigator.locks.request('frozen:r', { mode: 'shared' }, () => new Promise(() => {}))
    frozen.catch(() => stop.abort())
    await peer.release({ resource: 'r', token: first.granted ? first.lease.token : 0 })
    await store.release({ resource: 'r', id: 'b' })
    const { granted } = await ask('c')
    await Promise.all([store.close(), peer.close()])
    return granted && stop.signal.aborted
  },

  async holder() {
    return (await leases.inspect('page'))?.owner ?? null
  },

  async waiters() {
    return (await leases.waiting('page')).map(({ owner, place }) => `${place} ${owner}`)
  },

  async force() {
    const [store, lease] = [webLockStore({ prefix: 'shared:' }), await leases.inspect('page')]
    await store.release({ resource: 'page', token: lease?.token ?? 0 })
    await store.close()
  },

  /** Whether the lock is free again after its record could not be written. */
  async refuseRecords() {
    const { put } = IDBObjectStore.prototype
    IDBObjectStore.prototype.put = () => {
      throw new DOMException('full', 'QuotaExceededError')
    }
    const refused = await leases.tryAcquire('unwritten').then(String, (error) => error.code as string)
    IDBObjectStore.prototype.put = put
    const lease = await leases.tryAcquire('unwritten')
    return { refused, isHeld: lease?.held === true }
  },

  /** The error of an acquisition that cannot get the gate in time, and whether the lock is free afterwards. */
  async blockGate() {
    const clock = { ...systemClock, monotonic: () => performance.now() * 100 }
    const store = webLockStore({ prefix: 'gate:', clock })
    const ask = (id: string) => store.acquire({ resource: 'page', id, owner: 'Mika', ttl: HANG_MS })
    const { promise: open, resolve: openGate } = Promise.withResolvers<void>()
    const gate = navigator.locks.request('gate:\u0001page', () => open)
    const refused = await ask('late').then(String, (error) => error.code as string)
    openGate()
    await gate
    const limit = Date.now() + 5000
    let isFree = false
    while (!isFree && Date.now() < limit) isFree = (await ask('next')).granted
    await store.close()
    return { refused, isFree }
  },

  async isWaiting() {
    return isWaiting
  },

  async isHeld() {
    return held?.held === true
  },

  /** With `titles`, only these tests of the suite. */
  async conformance(kind: 'locks' | 'directory', titles?: readonly string[]) {
    const cases: { title: string; body: () => Promise<void> }[] = []
    const offset = { ms: 0 }
    const clock = { ...systemClock, now: () => Date.now() + offset.ms }
    const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
    // By a clock that is set, so that a TTL is longer than any delay of a busy machine.
    const pass = async (ms: number) => {
      offset.ms += ms
      await sleep(Math.min(ms, 20))
    }
    const makers = {
      locks: (name: string) => () => webLockStore({ prefix: `${name}:`, clock }),
      directory: (name: string) => () => directoryStore(opfs, { file: `${name}.json`, clock }),
    }
    describeStore(kind, {
      runner: {
        describe: (_name, body) => body(),
        it: (title, body) => cases.push({ title, body }),
      },
      ...(kind === 'locks' && { supports: { expiry: false } }),
      contention: 60,
      ttl: 10_000,
      pass: (_, ms) => pass(ms),
      create: async () => {
        const open = makers[kind](crypto.randomUUID())
        const [store, peer] = [open(), open()]
        const dispose = async () => {
          offset.ms = 0
          await Promise.all([store.close(), peer.close()])
        }
        return { store, peer, open, dispose }
      },
      reopen: async ({ open }) => open(),
      stepClock: (_, ms) => {
        offset.ms += ms
      },
    })
    const results: { title: string; error?: string }[] = []
    // One after the other, because they share a clock that some of them set.
    for (const { title, body } of cases.filter(({ title }) => titles?.includes(title) ?? true))
      results.push(
        await body().then(
          () => ({ title }),
          (error: unknown) => ({ title, error: String(error) }),
        ),
      )
    return results
  },

  async platform() {
    const results: { title: string; observed: unknown; expected: unknown }[] = []
    for (const { title, observe, expected } of platformCases) {
      const directory = await (await opfs()).getDirectoryHandle(crypto.randomUUID(), { create: true })
      results.push({ title, observed: await observe({ locks: navigator.locks, directory }), expected })
    }
    return results
  },
}

const opfs = () => navigator.storage.getDirectory()

function deleteRows(database: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(database)
    opening.onerror = () => reject(opening.error)
    opening.onsuccess = () => {
      const change = opening.result.transaction('leases', 'readwrite')
      change.objectStore('leases').clear()
      change.oncomplete = () => {
        opening.result.close()
        resolve()
      }
    }
  })
}

Object.assign(globalThis, { scenarios })
