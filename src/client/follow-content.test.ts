import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { LeaseError } from '../base/errors.ts'
import type { DocumentLock } from './document-lock-types.ts'
import { textCodec } from './draft/codecs.ts'
import { followContent } from './follow-content.ts'
import { type DocumentLockState, INITIAL_STATE } from './lock-state.ts'

/** A document on a server whose responses a test gives by hand. */
class FakeLock {
  state: DocumentLockState = INITIAL_STATE
  readonly loads: PromiseWithResolvers<unknown>[] = []
  readonly #listeners = new Set<() => void>()

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  load = () => {
    const load = Promise.withResolvers<unknown>()
    this.loads.push(load)
    return load.promise
  }

  change(change: Partial<DocumentLockState>): void {
    this.state = { ...this.state, ...change }
    for (const listener of this.#listeners) listener()
  }

  async answer(content: unknown): Promise<void> {
    this.loads.at(-1)?.resolve({ content, token: 1, savedAt: null })
    await settled()
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

async function open() {
  const lock = new FakeLock()
  const followed = followContent(lock as unknown as DocumentLock)
  await lock.answer('first')
  return { lock, followed }
}

describe('the saved content of a document', () => {
  it('the saved content of a document is loaded at once, and when another tab has saved', async () => {
    const { lock, followed } = await open()
    expect(followed.state).toMatchObject({ content: 'first', isLoaded: true })
    lock.change({ savedAt: 'now' })
    await lock.answer('second')
    expect(followed.state.content).toBe('second')
  })

  it('the saved content of a document is what the codec makes of it, also before it is loaded', async () => {
    const lock = new FakeLock()
    const codec = { decode: (saved: unknown) => (saved === null ? 'empty' : `<${saved}>`) }
    const followed = followContent(lock as unknown as DocumentLock, { codec })
    expect(followed.state).toMatchObject({ content: 'empty', isLoaded: false })
    await lock.answer('first')
    expect(followed.state).toMatchObject({ content: '<first>', isLoaded: true })
  })

  it('the saved content of a document that the codec cannot read is an error, and nobody should write over it', async () => {
    const lock = new FakeLock()
    const { decode } = textCodec
    const followed = followContent(lock as unknown as DocumentLock, { codec: { decode } })
    await lock.answer('first')
    lock.change({ savedAt: 'now' })
    await lock.answer({ title: 'not text' })
    expect(followed.state).toMatchObject({
      content: 'first',
      isLoaded: false,
      error: {
        code: 'store-failed',
        message: 'the saved content cannot be read: the saved content is not text',
      },
    })
    lock.change({ savedAt: 'later' })
    await lock.answer('second')
    expect(followed.state).toMatchObject({ content: 'second', isLoaded: true, error: null })
  })

  it('the saved content of a document needs a lock, and a codec that decodes', () => {
    const lock = new FakeLock() as unknown as DocumentLock
    expect(() => followContent(null as never)).toThrow('lock: expected a DocumentLock')
    expect(() => followContent(lock, { codec: {} as never })).toThrow('codec: expected a DraftCodec')
    expect(() => followContent(lock, { coded: textCodec } as never)).toThrow('`coded`: unknown option')
  })

  it('the saved content of a document is loaded again by itself after a load failed, so that the holder can write', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { lock, followed } = await open()
    lock.change({ held: true })
    lock.loads.at(-1)?.reject(new LeaseError('store-unavailable', '503'))
    await settled()
    expect(followed.state).toMatchObject({ isLoaded: false, error: { code: 'store-unavailable' } })
    await vi.advanceTimersByTimeAsync(1250)
    await lock.answer('second')
    expect(followed.state).toMatchObject({ content: 'second', isLoaded: true, error: null })
    lock.loads.length = 0
    lock.change({ held: false })
    lock.loads.at(-1)?.reject(new LeaseError('store-unavailable', '503'))
    await settled()
    await followed.close()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(lock.loads).toHaveLength(1)
  })

  it('the saved content of a document is not loaded after a grant until it is known what others have saved before', async () => {
    const { lock, followed } = await open()
    lock.change({ held: true })
    expect(followed.state.isLoaded).toBe(false)
    await lock.answer('second')
    expect(followed.state).toMatchObject({ content: 'second', isLoaded: true })
  })

  it('the saved content of a document is not loaded again for the saves of this tab, but when its turn ends', async () => {
    const { lock } = await open()
    lock.change({ held: true })
    await lock.answer('second')
    const before = lock.loads.length
    lock.change({ savedAt: 'now' })
    expect(lock.loads.length).toBe(before)
    lock.change({ held: false })
    expect(lock.loads.length).toBe(before + 1)
  })

  it('the saved content of a document is the latest, also if an earlier response arrives later', async () => {
    const { lock, followed } = await open()
    lock.change({ savedAt: 'then' })
    const late = lock.loads.at(-1)
    lock.change({ savedAt: 'now' })
    await lock.answer('third')
    late?.resolve({ content: 'second', token: 1, savedAt: null })
    await settled()
    expect(followed.state.content).toBe('third')
  })

  it('the saved content of a document keeps what is known when a load fails, and is loaded when the server is back', async () => {
    const { lock, followed } = await open()
    lock.change({ savedAt: 'now' })
    lock.loads.at(-1)?.reject(new LeaseError('store-unavailable', 'no network'))
    await settled()
    expect(followed.state).toMatchObject({ content: 'first', error: { code: 'store-unavailable' } })
    lock.change({ gaps: 1 })
    await lock.answer('second')
    expect(followed.state).toMatchObject({ content: 'second', error: null })
  })

  it('the saved content of a document changes no more after it is closed', async () => {
    const { lock, followed } = await open()
    lock.change({ savedAt: 'now' })
    await followed.close()
    await lock.answer('second')
    lock.change({ savedAt: 'later' })
    expect(followed.state.content).toBe('first')
    expect(lock.loads).toHaveLength(2)
  })
})
