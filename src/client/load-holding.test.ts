import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { connect, type Network } from '../../test/server/page-network.ts'
import { ADMIN_TOKEN, type ServiceBed, serviceBed } from '../../test/server/service-bed.ts'
import type { DocumentLock } from './index.ts'

const LOCK = '/api/documents/room-1/lock'
const OFFLINE = new TypeError('Failed to fetch dynamically imported module')

describe('a page that has opened a lock, and not yet loaded what acquires it', () => {
  let bed: ServiceBed
  let network: Network
  let lock: DocumentLock
  /** Replaced by each test. */
  let load: () => Promise<unknown>
  const loads = vi.fn(() => load())
  beforeEach(async () => {
    bed = await serviceBed()
    network = connect(bed)
    loads.mockClear()
  })
  afterEach(async () => {
    await lock.close()
    vi.unstubAllGlobals()
    vi.doUnmock('./load-holding.ts')
    vi.resetModules()
    await bed[Symbol.asyncDispose]()
  })

  const openLock = async (firstLoad: () => Promise<unknown>) => {
    load = firstLoad
    vi.resetModules()
    vi.doMock('./load-holding.ts', () => ({ loadHolding: loads }))
    const { createDocumentLock } = await import('./document-lock.ts')
    lock = createDocumentLock({
      url: 'http://holdfast.test',
      roomId: 'room-1',
      name: 'Ken',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      clock: bed.clock,
    })
    await eventually(() => expect(lock.state.me).not.toBeNull())
  }
  const fromNetwork = async () => (await import('./load-holding-browser.ts')).loadHolding()
  const offline = () => Promise.reject(OFFLINE)
  /** Loads when the result is called. */
  const openSlowly = async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await openLock(() => promise.then(fromNetwork))
    return resolve
  }
  const requested = () => network.sent.filter((name) => name === `POST ${LOCK}`).length

  it('a page that has opened a lock, and not yet loaded what acquires it loads it without being asked, once, so that the first acquire need not wait for it', async () => {
    await openLock(fromNetwork)
    expect(loads).toHaveBeenCalledTimes(1)
    await eventually(async () => expect(await lock.acquire()).toBe(true))
    await lock.save('text')
    expect(await lock.load()).toMatchObject({ content: 'text' })
    await lock.release()
    expect(lock.state).toMatchObject({ phase: 'idle', held: false })
  })

  it('shows at once that it acquires, and acquires when it is loaded', async () => {
    const arrive = await openSlowly()
    const acquiring = lock.acquire()
    expect(lock.state.phase).toBe('acquiring')
    expect(requested()).toBe(0)
    arrive()
    expect(await acquiring).toBe(true)
    expect(lock.state).toMatchObject({ phase: 'held', held: true })
  })

  it.each(['release', 'close'] as const)(
    'a page that has opened a lock, and not yet loaded what acquires it requests nothing after %s',
    async (method) => {
      const arrive = await openSlowly()
      const outcomes = [lock.acquire({ wait: Infinity }), lock.takeover()]
      await lock[method]()
      arrive()
      expect(await Promise.all(outcomes)).toEqual([false, false])
      await fromNetwork()
      expect(lock.state.phase).toBe('idle')
      expect(requested()).toBe(0)
      expect(network.sent.filter((name) => !name.startsWith('GET'))).toEqual([])
    },
  )

  it('a page that has opened a lock, and not yet loaded what acquires it ends a wait in time, and requests nothing later', async () => {
    const arrive = await openSlowly()
    const waiting = lock.acquire({ wait: '5s' })
    await bed.clock.advance(5000)
    expect(await waiting).toBe(false)
    arrive()
    await fromNetwork()
    await bed.clock.advance(5000)
    expect(lock.state.phase).toBe('idle')
    expect(requested()).toBe(0)
  })

  it('a page that has opened a lock, and not yet loaded what acquires it reads the lock again and again, and opens the socket for events when it is loaded', async () => {
    const arrive = await openSlowly()
    const reads = () => network.sent.filter((name) => name === `GET ${LOCK}`).length
    const before = reads()
    const { gaps } = lock.state
    await bed.clock.advance(3000)
    await eventually(() => expect(reads()).toBeGreaterThan(before))
    // Somebody may have saved in between.
    await eventually(() => expect(lock.state.gaps).toBeGreaterThan(gaps))
    expect(network.sockets).toBe(0)
    arrive()
    await eventually(() => expect(network.sockets).toBe(1))
  })

  it('a page that has opened a lock, and not yet loaded what acquires it loads it again when the page is shown again, for the events that a reader needs', async () => {
    const [page, window] = [Object.assign(new EventTarget(), { hidden: false }), new EventTarget()]
    vi.stubGlobal('document', page)
    vi.stubGlobal('window', window)
    await openLock(offline)
    expect(network.sockets).toBe(0)
    load = fromNetwork
    window.dispatchEvent(new Event('online'))
    await eventually(() => expect(network.sockets).toBe(1))
  })

  it('a page that has opened a lock, and not yet loaded what acquires it shows an error that a retry may end if it cannot be loaded, and the next call loads it again', async () => {
    await openLock(offline)
    expect(await lock.acquire()).toBe(false)
    const error = { code: 'store-unavailable', retryable: true, cause: OFFLINE }
    expect(lock.state).toMatchObject({ phase: 'error', error })
    expect(await lock.takeover()).toBe(false)
    expect(lock.state).toMatchObject({ demand: 'failed', error })
    await expect(lock.save('text')).rejects.toMatchObject({ code: 'lease-lost', cause: error })
    load = fromNetwork
    expect(await lock.acquire()).toBe(true)
  })

  it('a page that has opened a lock, and not yet loaded what acquires it loads it again by itself while a call waits', async () => {
    await openLock(offline)
    const waiting = lock.acquire({ wait: Infinity })
    await eventually(() =>
      expect(lock.state).toMatchObject({ phase: 'acquiring', error: { cause: OFFLINE } }),
    )
    load = fromNetwork
    await bed.clock.advance(2000)
    expect(await waiting).toBe(true)
    expect(lock.state).toMatchObject({ phase: 'held', error: null })
  })
})
