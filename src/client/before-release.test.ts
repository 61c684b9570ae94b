import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { connect, type Network, open } from '../../test/server/page-network.ts'
import { type ServiceBed, serviceBed } from '../../test/server/service-bed.ts'
import type { DocumentLock } from './index.ts'

const LOCK = '/api/documents/room-1/lock'

afterEach(() => vi.unstubAllGlobals())

describe('what happens before a release', () => {
  let bed: ServiceBed
  let network: Network
  let lock: DocumentLock
  beforeEach(async () => {
    bed = await serviceBed()
    network = connect(bed)
    lock = open(bed)
    expect(await lock.acquire()).toBe(true)
  })
  afterEach(async () => {
    await lock.close()
    await bed[Symbol.asyncDispose]()
  })
  const ROOM = '/api/documents/room-1'
  /** The text that the next holder starts from: it has waited for the lock, and reads when it gets it. */
  const textOfNext = async () => {
    const next = bed.browser('next')
    const turn = next.call('POST', `${LOCK}?wait=30`)
    await eventually(async () =>
      expect((await bed.browser().call('GET', LOCK)).body).toMatchObject({ waiting_count: 1 }),
    )
    return async () => {
      expect((await turn).status).toBe(200)
      return (await next.call('GET', ROOM)).body.content
    }
  }

  /** Returns a function that lets the save pass. */
  const withholdSave = (path: string) => {
    const { promise: delayed, resolve: deliver } = Promise.withResolvers<void>()
    network.onRequest = (request) => (request === `PUT ${path}` ? delayed : undefined)
    return deliver
  }

  it.each(['release', 'close'] as const)(
    'what happens before a release is a last save, also if somebody waits: %s',
    async (method) => {
      const next = await textOfNext()
      lock.beforeRelease(() => lock.save('the last words'))
      const deliver = withholdSave(ROOM)
      const ending = lock[method]()
      await eventually(() => expect(network.sent).toContain(`PUT ${ROOM}`))
      expect(lock.state.held).toBe(true)
      deliver()
      await ending
      expect(await next()).toBe('the last words')
    },
  )

  it('what happens before a release is a last save when the holder agrees to hand over', async () => {
    const asking = bed.browser('next').call('POST', `${LOCK}/request`)
    await eventually(async () => {
      if (network.unanswered === 0) await bed.clock.advance(100)
      expect(lock.state.request).not.toBeNull()
    })
    lock.beforeRelease(() => lock.save('the last words'))
    const deliver = withholdSave(ROOM)
    const answering = lock.answer(true)
    await eventually(() => expect(network.sent).toContain(`PUT ${ROOM}`))
    expect(network.sent).not.toContain(`POST ${LOCK}/request/answer`)
    deliver()
    await answering
    expect((await asking).status).toBe(200)
    expect((await bed.browser('next').call('GET', ROOM)).body.content).toBe('the last words')
  })

  it('what happens before a release is a last save when another tab of the same person asks, who need not be asked', async () => {
    lock.beforeRelease(() => lock.save('the last words'))
    await using second = open(bed, { clientId: 'second-tab' })
    const asking = second.requestHandoff()
    await eventually(async () => {
      if (network.unanswered === 0) await bed.clock.advance(100)
      expect(second.state.held).toBe(true)
    })
    expect(await asking).toBe(true)
    expect(await second.load()).toMatchObject({ content: 'the last words' })
    // It has no socket here, so its next heartbeat tells it.
    await eventually(async () => {
      if (network.unanswered === 0) await bed.clock.advance(1000)
      expect(lock.state).toMatchObject({ held: false, phase: 'read-only', request: null })
    })
  })

  it('what happens before a release does not keep the lock for longer than ten seconds, and not at all if it throws', async () => {
    lock.beforeRelease(() => new Promise(() => {}))
    const ending = lock.release()
    await bed.clock.advance(9999)
    expect(lock.state.held).toBe(true)
    await bed.clock.advance(1)
    await ending
    expect(lock.state.held).toBe(false)

    await using other = open(bed, { clientId: 'another-tab' })
    expect(await other.acquire()).toBe(true)
    other.beforeRelease(() => {
      throw new Error('no text')
    })
    other.beforeRelease(() => Promise.reject(new Error('no text')))
    await other.release()
    expect(other.state.held).toBe(false)
  })

  it('what happens before a release is left out when it was ended, and while the lock is not held', async () => {
    const work = vi.fn()
    const stop = lock.beforeRelease(work)
    stop()
    await lock.release()
    lock.beforeRelease(work)
    await lock.release()
    await lock.close()
    expect(work).not.toHaveBeenCalled()
  })

  it('belongs to its lock object: another one of the page that closes does not run it', async () => {
    const work = vi.fn()
    lock.beforeRelease(work)
    const other = open(bed)
    expect(await other.acquire()).toBe(true)
    await other.close()
    expect(work).not.toHaveBeenCalled()
    await lock.release()
    expect(work).toHaveBeenCalledOnce()
  })

  it('what happens before a release does not end a lock that was requested again in the meantime', async () => {
    const { promise: saved, resolve: save } = Promise.withResolvers<void>()
    lock.beforeRelease(() => saved)
    const { token } = lock.state
    const releasing = lock.release()
    expect(await lock.acquire()).toBe(true)
    save()
    await releasing
    expect(lock.state).toMatchObject({ held: true, token })
  })

  it('what happens before a release comes before the end of a page, whose lock is released after it', async () => {
    const page = Object.assign(new EventTarget(), { hidden: false })
    vi.stubGlobal('document', page)
    vi.stubGlobal('window', new EventTarget())
    await using tab = open(bed, { clientId: 'a-page', roomId: 'room-2' })
    expect(await tab.acquire()).toBe(true)
    tab.beforeRelease(() => tab.save('the last words'))
    const deliver = withholdSave('/api/documents/room-2')
    window.dispatchEvent(new Event('pagehide'))
    await eventually(() => expect(network.sent).toContain('PUT /api/documents/room-2'))
    expect(network.sent).not.toContain('POST /api/documents/room-2/lock/release')
    deliver()
    await eventually(async () => expect(await bed.store.read(['document:room-2'])).toEqual([[]]))
    expect(await tab.load()).toMatchObject({ content: 'the last words' })
  })
})

describe('a save', () => {
  it('a save is refused after the lock was released, and after it was closed', async () => {
    await using bed = await serviceBed()
    connect(bed)
    const lock = open(bed)
    await lock.acquire()
    await lock.save('text')
    await lock.release()
    await expect(lock.save('too late')).rejects.toMatchObject({ code: 'lease-lost' })
    await lock.acquire()
    const closing = lock.close()
    await expect(lock.save('too late')).rejects.toMatchObject({ code: 'closed' })
    await closing
    await using other = open(bed)
    expect(await other.load()).toMatchObject({ content: 'text' })
  })
})
