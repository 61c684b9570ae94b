import { fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { Firestore, type Query } from '@google-cloud/firestore'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { LeaseStore } from '../../src/core/index.ts'
import { firestoreStore } from '../../src/stores/firestore/index.ts'
import { DocumentRegisters } from '../../src/stores/firestore/registers.ts'
import { isWritten } from '../../src/stores/registers/index.ts'
import { describeStore, skewDate } from '../../src/testing/index.ts'
import { cuttableProxy } from '../../src/testing/node/cuttable-proxy.ts'
import { eventually } from '../eventually.ts'
import { HANG_MS } from '../hang-limit.ts'
import { ask, grab } from './asking-by-id.ts'
import { noticesMistake } from './notices-mistake.ts'
import { ownSystemClock } from './own-clock.ts'

const { FIRESTORE_EMULATOR_HOST = '127.0.0.1:8080' } = process.env

const options = {
  runner: { describe, it },
  supports: { queue: false },
  ttl: 1500,
  contention: 60,
  create: openPair,
  reopen: async ({ collection, peerClient, store }: Pair) => {
    await store.close()
    return firestoreStore(peerClient, { collection })
  },
  outage: async ({ proxy, client }: Pair) => {
    proxy.cut()
    return async () => {
      proxy.mend()
      await client.doc('any/document').get()
    }
  },
  interruptWatch: async ({ failListeners }: Pair) => failListeners(),
  skewCaller: (_: unknown, ms: number) => skewDate(ms),
}
describeStore('firestore', options)
noticesMistake('firestore', 'expiry by the clock of the caller', options)

type Pair = Awaited<ReturnType<typeof openPair>>

describe('a lease in a document of Firestore', () => {
  let pair: Pair
  let store: LeaseStore
  let peer: LeaseStore
  beforeEach(async () => {
    pair = await openPair()
    store = pair.store
    peer = pair.peer
  })
  afterEach(() => pair.dispose())
  const documentOf = (name: string) => pair.peerClient.collection(pair.collection).doc(`lease:${name}`)
  const openRegisters = () =>
    new DocumentRegisters(pair.peerClient, pair.peerClient.collection(pair.collection))

  it('a lease in a document of Firestore has the time of its write in microseconds for a token', async () => {
    const { token } = await grab(store, 'a')
    const { updateTime } = await documentOf('r').get()
    expect(token).toBe((updateTime?.seconds ?? 0) * 1_000_000 + (updateTime?.nanoseconds ?? 0) / 1000)
  })

  it('a lease in a document of Firestore keeps metadata that Firestore cannot keep in a field', async () => {
    const metadata = {
      matrix: [
        [1, 2],
        [3, [4]],
      ],
      __name__: 'x',
      'a.b': null,
      '': 1,
    }
    await grab(store, 'a', { metadata })
    expect(await peer.read(['r'])).toMatchObject([[{ metadata }]])
  })

  it('a lease in a document of Firestore is granted, renewed and released once, even if the client sends each write twice', async () => {
    const twice = firestoreStore(sendingTwice(pair.peerClient), { collection: pair.collection })
    const { token } = await grab(twice, 'a')
    expect(await twice.renew({ resource: 'r', id: 'a', ttl: 60_000 })).toMatchObject({
      ok: true,
      lease: { token },
    })
    const { ended } = await twice.release({ resource: 'r', id: 'a' })
    expect(ended).toMatchObject({ token, state: 'released' })
  })

  it('a lease in a document of Firestore is lost if somebody deletes its document, and the next token is higher', async () => {
    const lost = vi.fn()
    const { token } = await grab(store, 'a', { lost })
    const watch = await store.watch(() => {})
    await documentOf('r').delete()
    await eventually(() => expect(lost).toHaveBeenCalledOnce())
    expect(await store.renew({ resource: 'r', id: 'a', ttl: 1000 })).toEqual({ ok: false, holders: [] })
    expect((await grab(peer, 'b')).token).toBeGreaterThan(token)
    await watch[Symbol.asyncDispose]()
  })

  it('a lease in a document of Firestore is not granted over the document of another program', async () => {
    await documentOf('r').create({ live: 'r', due: new Date(1), hello: 'world' })
    await pair.peerClient
      .collection(pair.collection)
      .doc('other')
      .create({ live: 'z', due: new Date(1) })
    await expect(ask(store, 'a')).rejects.toMatchObject({ code: 'store-failed' })
    expect(await store.sweep({ limit: 10 })).toEqual([])
    expect((await store.list({ limit: 10 })).leases).toEqual([])
    expect((await documentOf('r').get()).get('hello')).toBe('world')
  })

  it('a lease in a document of Firestore is listed, even if documents of other programs come before it', async () => {
    await documentOf('a').create({ live: 'a' })
    await grab(store, 'b', { resource: 'b' })
    const first = await store.list({ limit: 1 })
    expect(first).toEqual({ leases: [], next: 'a' })
    expect((await store.list({ limit: 1, after: 'a' })).leases).toMatchObject([{ resource: 'b' }])
  })

  it('a lease in a document of Firestore is swept, even if documents of other programs were due before it', async () => {
    for (const name of ['x', 'y', 'z']) await documentOf(name).create({ due: new Date(1) })
    await grab(store, 'a', { ttl: 10 })
    await eventually(async () => expect(await store.sweep({ limit: 2 })).toMatchObject([{ id: 'a' }]))
  })

  it('a lease in a document of Firestore is removed without a trace, unless it was written again', async () => {
    const registers = openRegisters()
    const index = () => ({ isListed: false, dueAt: 0 })
    const first = await registers.write('r', 'one', null, index)
    const second = isWritten(first) && (await registers.write('r', 'two', first.register, index))
    if (!isWritten(first) || !second || !isWritten(second)) throw new Error('not written')
    await registers.remove(first.register)
    expect((await registers.read(['r'])).registers).toMatchObject([{ text: 'two' }])
    await registers.remove(second.register)
    expect((await documentOf('r').get()).exists).toBe(false)
  })

  it('a lease in a document of Firestore sends no further request for a write that outlasts close', async () => {
    const registers = openRegisters()
    const index = () => ({ isListed: false, dueAt: 0 })
    await registers.write('r', 'one', null, index)
    // It is in conflict with the first write, so it would read whether that was its own.
    const conflicting = registers.write('r', 'two', null, index)
    registers.close()
    await expect(conflicting).rejects.toMatchObject({ code: 'closed' })
  })

  it('a lease in a document of Firestore is not reported to those who watch later', async () => {
    const told: string[] = []
    await grab(peer, 'a')
    const watch = await store.watch((event) => told.push(event.type === 'gap' ? 'gap' : event.lease.resource))
    await grab(peer, 'b', { resource: 'later' })
    await eventually(() => expect(told).toContain('later'))
    expect(told).toEqual(['later'])
    await watch[Symbol.asyncDispose]()
  })

  it('a lease in a document of Firestore reports its end, even if the connection was cut meanwhile', async () => {
    const lost = vi.fn()
    const { token } = await grab(store, 'a', { lost })
    const watch = await store.watch(() => {})
    pair.proxy.cut()
    await peer.release({ resource: 'r', token })
    pair.proxy.mend()
    await eventually(() => expect(lost).toHaveBeenCalledOnce())
    await watch[Symbol.asyncDispose]()
  })
})

describe('firestoreStore', () => {
  it.each(['inspect', 'list', 'acquire', 'sweep', 'watch', 'aborted read', 'check of a held lease'])(
    'waits in close for its requests, because the client cannot be terminated before: %s',
    async (request) => {
      expect(await endOfChild(request, FIRESTORE_EMULATOR_HOST)).toEqual([0, ''])
    },
  )

  it('waits in close also for a read that takes seconds', async () => {
    await using slow = await slowProxy(FIRESTORE_EMULATOR_HOST, 1000)
    expect(await endOfChild('inspect', slow.address)).toEqual([0, ''])
  })

  it('says that it has no permission to listen, and tries again only after 30 s', async () => {
    const clock = ownSystemClock()
    const denied = Object.assign(new Error('denied'), { code: 7 })
    const onSnapshot = vi.fn((_: unknown, onError: (error: Error) => void) => {
      queueMicrotask(() => onError(denied))
      return () => {}
    })
    const client = open(FIRESTORE_EMULATOR_HOST)
    const collection = derived(client.collection('denied'), { where: () => ({ onSnapshot }) })
    const store = firestoreStore(derived(client, { collection: () => collection }))
    await grab(store, 'a', { lost: () => {}, resource: crypto.randomUUID() })
    await expect(store.watch(() => {})).rejects.toMatchObject({ code: 'store-failed', message: /denied/ })
    await clock.advance(29_999)
    expect(onSnapshot).toHaveBeenCalledOnce()
    await clock.advance(1)
    await eventually(() => expect(onSnapshot).toHaveBeenCalledTimes(2))
    await store.close()
    await client.terminate()
  })

  it('firestoreStore ends a call when its signal aborts, even if the client continues to try', async () => {
    const nowhere = open('127.0.0.1:1')
    const signal = AbortSignal.timeout(200)
    const call = firestoreStore(nowhere).acquire(
      { resource: 'r', id: 'a', owner: 'a', ttl: 1000 },
      { signal },
    )
    await expect(call).rejects.toMatchObject({ code: 'aborted' })
    await nowhere.terminate()
  })
})

/** Two stores on two clients and one new collection. The first client connects through a proxy. */
async function openPair() {
  const collection = `leases-${crypto.randomUUID()}`
  const [host = '', port] = FIRESTORE_EMULATOR_HOST.split(':')
  const proxy = await cuttableProxy(host, Number(port))
  const client = open(proxy.address)
  const peerClient = open(FIRESTORE_EMULATOR_HOST)
  const { observed, failListeners } = withListenersThatFail(client)
  const { tracked, settled } = withReadsThatAreAwaited(observed)
  const store = firestoreStore(tracked, { collection })
  const peer = firestoreStore(peerClient, { collection })
  return {
    collection,
    proxy,
    client,
    peerClient,
    failListeners,
    store,
    peer,
    async dispose() {
      await Promise.all([store.close(), peer.close()])
      proxy.mend()
      await settled()
      await Promise.all([client.terminate(), peerClient.terminate()])
      await proxy[Symbol.asyncDispose]()
    },
  }
}

/** The client takes the address of the emulator only from the environment. */
function open(address: string): Firestore {
  vi.stubEnv('FIRESTORE_EMULATOR_HOST', address)
  vi.stubEnv('METADATA_SERVER_DETECTION', 'none')
  try {
    return new Firestore({ projectId: 'holdfast-test' })
  } finally {
    vi.unstubAllEnvs()
  }
}

/** The client ends a listener only after a permanent error. `failListeners` makes one. */
function withListenersThatFail(client: Firestore) {
  const failures = new Set<() => void>()
  const watched = <Q extends Query>(query: Q): Q =>
    derived(query, {
      where: (...condition: Parameters<Query['where']>) => watched(query.where(...condition)),
      onSnapshot(onNext: Parameters<Query['onSnapshot']>[0], onError: (error: Error) => void) {
        const end = query.onSnapshot(onNext, onError)
        const fail = () => {
          end()
          onError(new Error('no permission any more'))
        }
        failures.add(fail)
        return () => {
          failures.delete(fail)
          end()
        }
      },
    })
  const observed = derived(client, { collection: (path: string) => watched(client.collection(path)) })
  const failListeners = () => {
    for (const fail of failures) fail()
  }
  return { observed, failListeners }
}

/** A client that is terminated between two tries of a read makes a rejection that nobody can handle. */
function withReadsThatAreAwaited(client: Firestore) {
  const reads = new Set<Promise<unknown>>()
  const tracked = derived(client, {
    getAll(...documents: Parameters<Firestore['getAll']>) {
      const read = client.getAll(...documents)
      reads.add(read)
      return read.finally(() => reads.delete(read))
    },
  })
  return { tracked, settled: () => Promise.allSettled(reads) }
}

/** As a client does if the answer to its first try was lost. */
function sendingTwice(client: Firestore): Firestore {
  return derived(client, {
    collection(path: string) {
      const collection = client.collection(path)
      return derived(collection, {
        doc(id: string) {
          const document = collection.doc(id)
          const twice =
            <A extends unknown[], T>(send: (...args: A) => Promise<T>) =>
            async (...args: A) => {
              await send.apply(document, args)
              return send.apply(document, args)
            }
          return derived(document, { create: twice(document.create), update: twice(document.update) })
        },
      })
    },
  })
}

function derived<T extends object>(base: T, changes: object): T {
  return Object.assign(Object.create(base), changes)
}

/** How a process ends that closes everything while a request is under way: its exit code, and what it printed. */
async function endOfChild(request: string, host: string): Promise<[exitCode: number, errors: string]> {
  const child = fork(join(import.meta.dirname, 'firestore/closing-child.ts'), [request], {
    env: { ...process.env, FIRESTORE_EMULATOR_HOST: host, METADATA_SERVER_DETECTION: 'none' },
    timeout: HANG_MS,
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  })
  let errors = ''
  child.stderr?.on('data', (chunk) => (errors += chunk))
  const [exitCode] = await once(child, 'close')
  return [exitCode, errors]
}

/** Whatever the server sends arrives late. */
async function slowProxy(server: string, ms: number) {
  const [host = '', port] = server.split(':')
  const proxy = createServer((client) => {
    const upstream = connect({ host, port: Number(port) })
    for (const socket of [client, upstream]) socket.on('error', () => client.destroy() && upstream.destroy())
    client.pipe(upstream)
    upstream.on('data', (chunk) => setTimeout(() => client.write(chunk), ms))
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      proxy.close()
    },
  }
}
