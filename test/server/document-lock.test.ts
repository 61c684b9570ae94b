import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createDocumentLock, type DocumentLock, followContent } from '../../src/client/index.ts'
import type { Identify, Settings } from '../../src/server/index.ts'
import { createServer, type HoldfastServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { FakeClock } from '../../src/testing/index.ts'
import { cuttableProxy } from '../../src/testing/node/cuttable-proxy.ts'
import { eventually } from '../eventually.ts'
import { fakeSocket } from './fake-socket.ts'

/** A session of its own for each: two with one session are tabs of one person. */
const PEOPLE = ['Mika', 'Ken', 'Ria', 'Aoi']
const tokenOf = (name: string) => `the-token-of-${PEOPLE.includes(name) ? name : 'Mika'}`
const TTL_MS = 30_000
const HEARTBEAT_MS = 10_000
const GRACE_MS = 5000
const ANSWER_MS = 15_000

/** Of the clock, and of real time: what is sent at one step is answered long before a heartbeat is overdue. */
const STEP_MS = 250
const STEP_REAL_MS = 10

/** The server and its clients have one clock, so that nothing runs out while the machine is busy. */
describe('the lock of a document, outside of a browser', () => {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  let server: HoldfastServer
  let roomId: string
  const start = (more: Partial<Settings> = {}, identify?: Identify) => {
    const times = { ttl: TTL_MS, heartbeat: HEARTBEAT_MS, grace: GRACE_MS, answerWithin: ANSWER_MS }
    const settings = {
      ...times,
      port: 0,
      rate: 0,
      logLevel: 'silent',
      adminTokens: PEOPLE.map(tokenOf),
      ...more,
    } as const
    return createServer({ store, clock, settings, ...(identify && { identify }) })
  }
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server?.close())
  beforeEach(() => {
    roomId = crypto.randomUUID()
  })

  const open = (name: string, more: object = {}) =>
    createDocumentLock({
      url: server.url,
      roomId,
      name,
      headers: { authorization: `Bearer ${tokenOf(name)}` },
      clientId: crypto.randomUUID(),
      clock,
      ...more,
    })
  const phase = (lock: DocumentLock, wanted: string) =>
    eventually(() => expect(lock.state.phase).toBe(wanted))
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      await clock.advance(STEP_MS)
      await new Promise((resolve) => setTimeout(resolve, STEP_REAL_MS))
    }
  }
  /** Lets time pass until the work is done. */
  const inTime = async <T>(work: Promise<T>): Promise<T> => {
    let isDone = false
    const done = work.finally(() => {
      isDone = true
    })
    while (!isDone) await pass(STEP_MS)
    return done
  }

  it('saves with the token of its grant, and reads what was saved', async () => {
    await using lock = open('Mika')
    await expect(lock.save('too early')).rejects.toMatchObject({ code: 'lease-lost' })
    expect(await lock.acquire()).toBe(true)
    await lock.save({ text: 'hello' })
    expect(await lock.load()).toMatchObject({ content: { text: 'hello' }, token: lock.state.token })
  })

  it('the lock of a document, outside of a browser tells readers that the content was deleted, who then see none', async () => {
    await using mika = open('Mika')
    await using ken = open('Ken')
    await using read = followContent(ken)
    await eventually(() => expect(ken.state.connected).toBe(true))
    await mika.acquire()
    await mika.save('text')
    await eventually(() => expect(read.state.content).toBe('text'))
    const { gaps } = ken.state
    const headers = { authorization: `Bearer ${tokenOf('Mika')}` }
    const deleted = await fetch(`${server.url}/api/documents/${roomId}`, { method: 'DELETE', headers })
    expect(deleted.status).toBe(200)
    await eventually(() => expect(read.state).toMatchObject({ content: null, isLoaded: true, savedAt: null }))
    expect(ken.state).toMatchObject({ savedAt: null, gaps: gaps + 1 })
  })

  it('the lock of a document, outside of a browser tells listeners until they stop, with one object as long as nothing changes', async () => {
    await using lock = open('Mika')
    const listener = vi.fn()
    const stop = lock.subscribe(listener)
    await lock.acquire()
    expect(listener).toHaveBeenCalled()
    expect(lock.state).toBe(lock.state)
    stop()
    listener.mockClear()
    await lock.release()
    expect(listener).not.toHaveBeenCalled()
  })

  it('the lock of a document, outside of a browser goes on after a listener threw, and tells the others', async () => {
    await using lock = open('Mika')
    const listener = vi.fn()
    lock.subscribe(() => {
      throw new Error('a bad listener')
    })
    lock.subscribe(listener)
    expect(await lock.acquire()).toBe(true)
    expect(listener).toHaveBeenCalled()
  })

  it('hears of rooms that are closed to strangers, by whatever key', async () => {
    const shut = await start({ publicChannels: false, channelKey: 'another' })
    onTestFinished(() => shut.close())
    await using mika = open('Mika', { url: shut.url })
    await using ken = open('Ken', { url: shut.url })
    await mika.acquire()
    await phase(ken, 'read-only')
    const taking = ken.takeOver()
    await eventually(() => expect(mika.state.request).toMatchObject({ kind: 'takeover', name: 'Ken' }))
    expect(await inTime(taking)).toBe(true)
    await phase(mika, 'lost')
  })

  it('hears of its room though the first look was refused', async () => {
    let isKnown = false
    const later = await start({}, () => (isKnown ? { id: 'mika' } : null))
    onTestFinished(() => later.close())
    await using lock = open('Mika', { url: later.url, headers: {} })
    expect(await lock.acquire()).toBe(false)
    isKnown = true
    expect(await lock.acquire()).toBe(true)
    await eventually(() => expect(lock.state.connected).toBe(true))
  })

  it('the lock of a document, outside of a browser does not wait unless told to, and leaves the queue when released', async () => {
    await using mika = open('Mika')
    await using ken = open('Ken')
    await mika.acquire()
    expect(await ken.acquire()).toBe(false)
    expect(ken.state.phase).toBe('read-only')
    const waiting = ken.acquire({ wait: Infinity })
    await phase(ken, 'waiting')
    await eventually(() => expect(mika.state.waiting).toBe(1))
    await ken.release()
    expect(await waiting).toBe(false)
    await eventually(() => expect(mika.state.waiting).toBe(0))
  })

  it('the lock of a document, outside of a browser gets its turn when the holder goes, and stops waiting when the time is over', async () => {
    await using mika = open('Mika')
    await using ken = open('Ken')
    await mika.acquire()
    expect(await inTime(ken.acquire({ wait: 100 }))).toBe(false)
    const waiting = ken.acquire({ wait: 10_000 })
    await phase(ken, 'waiting')
    await mika.release()

    expect(await waiting).toBe(true)
  })

  it('knows for how long the holder has it, though nobody tells of heartbeats', async () => {
    await using mika = open('Mika')
    await using ken = open('Ken')
    await mika.acquire()
    await phase(ken, 'read-only')
    const first = ken.state.holder?.expiresAt ?? 0
    await pass(2 * TTL_MS)
    expect(ken.state.holder?.expiresAt).toBeGreaterThan(first + TTL_MS)
    expect(mika.state.phase).toBe('held')
    expect(ken.state.phase).toBe('read-only')
  })

  it('the lock of a document, outside of a browser ends its heartbeat when the lock was ended by force', async () => {
    await using lock = open('Mika')
    await lock.acquire()
    await store.release({ resource: `document:${roomId}`, token: lock.state.token ?? 0 })
    await phase(lock, 'lost')
    const renew = vi.spyOn(store, 'renew')
    await pass(TTL_MS)
    expect(renew).not.toHaveBeenCalled()
    renew.mockRestore()
  })

  it('the lock of a document, outside of a browser cannot save over a successor, who has not saved yet', async () => {
    await using mika = open('Mika')
    await using ken = open('Ken')
    await mika.acquire()
    expect(await inTime(ken.takeOver())).toBe(true)
    await expect(mika.save('late')).rejects.toMatchObject({ code: 'stale-token' })
    await phase(mika, 'lost')
  })

  it('the lock of a document, outside of a browser takes over while it waits in the queue, no matter who else waits', async () => {
    await using mika = open('Mika')
    await using ken = open('Ken')
    await using ria = open('Ria')
    await mika.acquire()
    const waits = [ken, ria].map((lock) => lock.acquire({ wait: 2 * TTL_MS }))
    await eventually(() => expect(mika.state.waiting).toBe(2))
    expect(await inTime(ken.takeOver())).toBe(true)
    const { token } = ken.state
    await pass(TTL_MS)
    expect(ken.state).toMatchObject({ phase: 'held', token })
    await ria.release()
    await Promise.all(waits)
  })

  it('the lock of a document, outside of a browser wants nothing more when it is closed in the middle of a takeover', async () => {
    await using mika = open('Mika')
    const ken = open('Ken')
    await mika.acquire()
    await phase(ken, 'read-only')
    const taking = ken.takeOver()
    await ken.close()
    expect(await inTime(taking)).toBe(false)
    await pass(2 * GRACE_MS)
    expect(mika.state.phase).toBe('held')
  })

  it('the lock of a document, outside of a browser keeps a request until it is answered or its time is over', async () => {
    await using mika = open('Mika')
    await using ken = open('Ken')
    await mika.acquire()
    await phase(ken, 'read-only')
    const asking = ken.requestHandoff()
    await eventually(() => expect(mika.state.request).toMatchObject({ kind: 'request', name: 'Ken' }))
    expect(ken.state.demand).toBe('asking')
    await mika.answer(false)
    expect(await asking).toBe(false)
    expect(mika.state.request).toBeNull()
    expect(ken.state.demand).toBe('declined')
    const unanswered = ken.requestHandoff()
    await eventually(() => expect(mika.state.request).not.toBeNull())
    expect(await inTime(unanswered)).toBe(false)
    expect(ken.state.demand).toBe('unanswered')
    await eventually(() => expect(mika.state.request).toBeNull())
    await mika.release()
    await eventually(() => expect(ken.state).toMatchObject({ phase: 'idle', demand: null }))
  })

  it('learns of requests that were made while it was away, one after the other', async () => {
    await using network = await cuttableProxy('127.0.0.1', server.port)
    await using mika = open('Mika', { url: `http://${network.address}` })
    await using ken = open('Ken')
    await using aoi = open('Aoi')
    await mika.acquire()
    await phase(aoi, 'read-only')
    await phase(ken, 'read-only')
    network.cut()
    await eventually(() => expect(mika.state.connected).toBe(false))
    const socket = fakeSocket(server.locks.channels, { key: 'holdfast' })
    await socket.subscribe(`document.${roomId}`)
    const isTold = () =>
      eventually(() => expect(socket.take()).toMatchObject([{ event: 'document.takeover-requested' }]))
    const asking = ken.requestHandoff()
    await isTold()
    const taking = aoi.requestHandoff()
    await isTold()
    network.mend()
    const isAskedBy = (name: string) => eventually(() => expect(mika.state.request).toMatchObject({ name }))
    await inTime(isAskedBy('Ken'))
    await eventually(() => expect(mika.state).toMatchObject({ phase: 'held', connected: true }))
    await mika.answer(false)
    expect(await asking).toBe(false)
    await isAskedBy('Aoi')
    await mika.answer(true)
    expect(await taking).toBe(true)
  })

  it('the lock of a document, outside of a browser forgets a request that was withdrawn', async () => {
    await using mika = open('Mika')
    await using ken = open('Ken')
    await mika.acquire()
    await phase(ken, 'read-only')
    const asking = ken.requestHandoff()
    await eventually(() => expect(mika.state.request).toMatchObject({ name: 'Ken' }))
    await ken.release()
    expect(await asking).toBe(false)
    await eventually(() => expect(mika.state.request).toBeNull())
  })

  it('the lock of a document, outside of a browser hands over, which is no loss', async () => {
    await using mika = open('Mika')
    await using ken = open('Ken')
    await mika.acquire()
    await phase(ken, 'read-only')
    const asking = ken.requestHandoff()
    await eventually(() => expect(mika.state.request).not.toBeNull())
    await mika.answer(true)
    expect(await asking).toBe(true)
    await phase(mika, 'read-only')
  })

  it('the lock of a document, outside of a browser is lost when it could not say that it hands over', async () => {
    const away = await start()
    await using mika = open('Mika', { url: away.url })
    await using ken = open('Ken', { url: away.url })
    await mika.acquire()
    await phase(ken, 'read-only')
    void ken.requestHandoff()
    await eventually(() => expect(mika.state.request).not.toBeNull())
    await away.close()
    await expect(mika.answer(true)).rejects.toMatchObject({ code: 'store-unavailable' })
    await inTime(phase(mika, 'lost'))
  })

  it('the lock of a document, outside of a browser says so when the server refuses, and when it cannot be reached', async () => {
    await using stranger = open('x', { url: 'http://127.0.0.1:1' })
    expect(await stranger.acquire()).toBe(false)
    expect(stranger.state).toMatchObject({
      phase: 'error',
      error: { code: 'store-unavailable', retryable: true },
    })
    await using nameless = open('n'.repeat(500))
    expect(await nameless.acquire()).toBe(false)
    expect(nameless.state).toMatchObject({ phase: 'error', error: { code: 'store-failed' } })
  })

  it.each([
    ['acquire', (lock: DocumentLock) => lock.acquire()],
    ['wait', (lock: DocumentLock) => lock.acquire({ wait: Infinity })],
  ])('locks nothing where nobody keeps its cookie, and says so: %s', async (_, ask) => {
    await using lock = open('Mika', { headers: {} })
    expect(await ask(lock)).toBe(false)
    const message = /cookie is not kept.*headers: { authorization: 'Bearer/
    expect(lock.state).toMatchObject({ phase: 'error', holder: null, waiting: 0, error: { message } })
    expect(await store.read([`document:${roomId}`])).toEqual([[]])
    await lock.release()
    expect(lock.state).toMatchObject({ phase: 'idle', error: null })
  })

  it('the lock of a document, outside of a browser takes nothing over where nobody keeps its cookie', async () => {
    await using mika = open('Mika')
    await mika.acquire()
    await using lock = open('Ken', { headers: {} })
    expect(await lock.takeOver()).toBe(false)
    expect(lock.state.demand).toBe('failed')
    expect(mika.state).toMatchObject({ phase: 'held', request: null })
  })

  it('the lock of a document, outside of a browser refuses a wrong room and a wrong address', () => {
    expect(() => createDocumentLock({ url: server.url, roomId: '' })).toThrow(
      'roomId: expected a non-empty string, got ""',
    )
    expect(() => createDocumentLock({ url: 'nowhere', roomId: 'r' })).toThrow(/url: expected/)
    expect(() => createDocumentLock({ roomId: 'r' })).toThrow(/url: expected/)
  })
})
