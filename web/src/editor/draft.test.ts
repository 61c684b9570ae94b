import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type DocumentLock, type DocumentLockState, INITIAL_STATE } from '../../../src/client/index.ts'
import { LeaseError } from '../../../src/core/index.ts'
import { Draft } from './draft.ts'
import type { UnsavedText } from './unsaved-copy.ts'

const UNREADABLE = new LeaseError('store-failed', 'cannot be read', {
  cause: { error: 'content_unreadable' },
})

/** A server with one document, and a lock on it that a test moves by hand. */
class FakeLock {
  state: DocumentLockState = INITIAL_STATE
  content = ''
  savedUnder: number | null = null
  /** The latest grant, whoever has it. */
  grant = 0
  isOnline = true
  isDamaged = false
  slowLoads: (() => void)[] | undefined
  readonly #listeners = new Set<() => void>()

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  load = async () => {
    this.#checkOnline()
    if (this.isDamaged) throw UNREADABLE
    const answer = { content: this.content, token: this.savedUnder, savedAt: null }
    if (this.slowLoads) await new Promise<void>((resolve) => this.slowLoads?.push(resolve))
    return answer
  }

  save = async (content: unknown) => {
    this.#checkOnline()
    if (this.state.token !== this.grant) throw new LeaseError('stale-token', 'another has had the lock')
    if (String(content).length > 100) throw new LeaseError('store-failed', 'too long')
    this.content = String(content)
    this.savedUnder = this.grant
    this.isDamaged = false
  }

  change(change: Partial<DocumentLockState>): void {
    this.state = { ...this.state, ...change }
    for (const listener of this.#listeners) listener()
  }

  take(): void {
    this.change({ phase: 'held', held: true, token: ++this.grant })
  }

  lose(): void {
    this.change({ phase: 'lost', held: false })
  }

  /** Another tab takes the lock, saves and releases it. */
  anotherWrites(text: string): void {
    this.savedUnder = ++this.grant
    this.content = text
    this.isDamaged = false
  }

  #checkOnline(): void {
    if (!this.isOnline) throw new LeaseError('store-unavailable', 'no network')
  }
}

describe('the text of a document', () => {
  let lock: FakeLock
  let draft: Draft
  beforeEach(async () => {
    vi.useFakeTimers()
    lock = new FakeLock()
    lock.content = 'first'
    draft = new Draft(lock as unknown as DocumentLock)
    await settle()
  })
  afterEach(() => {
    draft.close()
    vi.useRealTimers()
  })
  const settle = (ms = 0) => vi.advanceTimersByTimeAsync(ms)
  const edit = async () => {
    lock.take()
    await settle()
  }

  /** Types `mine`, loses the lock before that is saved, and another tab saves. */
  const loseTo = async (theirs: string) => {
    await edit()
    lock.isOnline = false
    draft.edit('mine')
    lock.lose()
    lock.anotherWrites(theirs)
    lock.isOnline = true
  }

  it('is loaded, edited and saved automatically', async () => {
    expect(draft.state).toMatchObject({ text: 'first', status: 'saved' })
    await edit()
    draft.edit('second')
    expect(draft.isSafe).toBe(false)
    await settle(600)
    expect(lock.content).toBe('second')
    expect(draft.state.status).toBe('saved')
  })

  it('is saved while somebody types without a pause', async () => {
    await edit()
    for (let n = 0; n < 10; n++) {
      draft.edit(`word ${n}`)
      await settle(300)
    }
    expect(lock.content).toMatch(/^word \d$/)
  })

  it('cannot be edited before it was loaded', async () => {
    lock.slowLoads = []
    lock.take()
    expect(draft.state.status).toBe('loading')
    lock.content = 'what another wrote before'
    for (const answer of lock.slowLoads) answer()
    lock.slowLoads = undefined
    await settle()
    expect(draft.state.status).toBe('saved')
  })

  it('is loaded again when a load failed', async () => {
    lock.isOnline = false
    lock.take()
    await settle()
    expect(draft.state.status).toBe('loading')
    lock.isOnline = true
    await settle(2000)
    expect(draft.state.status).toBe('saved')
  })

  it('is not replaced by a load that arrives late', async () => {
    await edit()
    lock.slowLoads = []
    lock.change({ savedAt: 'now' })
    const late = lock.slowLoads
    lock.slowLoads = undefined
    draft.edit('second')
    await settle(600)
    for (const answer of late) answer()
    await settle()
    expect(draft.state).toMatchObject({ text: 'second', status: 'saved' })
  })

  it('is saved by a holder whose lock expired, if nobody got the lock since', async () => {
    await edit()
    draft.edit('second')
    lock.lose()
    await settle()
    expect(lock.content).toBe('second')
  })

  it('is kept, and saved with the next grant if nobody has saved since', async () => {
    await edit()
    lock.isOnline = false
    draft.edit('second')
    lock.lose()
    await settle(5000)
    expect(draft.state.status).toBe('dirty')
    lock.isOnline = true
    lock.take()
    await settle(2000)
    expect(lock.content).toBe('second')
  })

  it('never overwrites what another tab saved in between, unless the user says so', async () => {
    await edit()
    lock.isOnline = false
    draft.edit('mine')
    lock.lose()
    await settle(5000)
    lock.anotherWrites('theirs')
    lock.isOnline = true
    await settle(2000)
    expect(draft.state).toMatchObject({ text: 'mine', status: 'kept', stored: 'theirs' })
    await edit()
    await settle(5000)
    expect(lock.content).toBe('theirs')
    await draft.saveMine()
    expect(lock.content).toBe('mine')
  })

  it('never overwrites it with a new grant either, if no save was refused before', async () => {
    await edit()
    lock.isOnline = false
    draft.edit('mine')
    await settle(600)
    lock.lose()
    lock.anotherWrites('theirs')
    lock.take()
    lock.isOnline = true
    await settle(5000)
    expect(lock.content).toBe('theirs')
    expect(draft.state.status).toBe('kept')
    draft.takeTheirs()
    await settle()
    expect(draft.state).toMatchObject({ text: 'theirs', status: 'saved' })
  })

  it('is replaced by the stored text when the user wants that, and can be brought back', async () => {
    await loseTo('theirs')
    await edit()
    await settle(5000)
    expect(draft.state).toMatchObject({ status: 'kept', isOutdated: true })
    draft.takeTheirs()
    await settle()
    expect(draft.state).toMatchObject({ text: 'theirs', status: 'saved', dropped: 'mine' })
    draft.bringBack()
    await settle(5000)
    expect(draft.state).toMatchObject({ text: 'mine', status: 'kept', isOutdated: true, dropped: null })
    expect(lock.content).toBe('theirs')
  })

  it('can be merged by hand while it is kept, and is saved when the user says so', async () => {
    await loseTo('theirs')
    await edit()
    await settle(5000)
    draft.edit('theirs and mine')
    expect(draft.state.status).toBe('kept')
    await settle(5000)
    expect([lock.content, draft.state.status]).toEqual(['theirs', 'kept'])
    await draft.saveMine()
    expect([lock.content, draft.state.status]).toEqual(['theirs and mine', 'saved'])
  })

  it('does not overwrite a version that the user has not seen', async () => {
    await loseTo('theirs')
    await settle(5000)
    expect(draft.state.stored).toBe('theirs')
    lock.anotherWrites('theirs, later')
    lock.take()
    await draft.saveMine()
    expect(lock.content).toBe('theirs, later')
    expect(draft.state).toMatchObject({ text: 'mine', status: 'kept', stored: 'theirs, later' })
  })

  it('is saved when somebody who was signed out is back', async () => {
    await edit()
    const save = lock.save
    lock.save = () => Promise.reject(new LeaseError('store-failed', 'sign in', { cause: { status: 401 } }))
    draft.edit('second')
    await settle(600)
    expect(draft.state.status).toBe('dirty')
    lock.save = save
    await settle(2000)
    expect(lock.content).toBe('second')
  })

  it('is loaded again after events may have been missed', async () => {
    lock.anotherWrites('second')
    lock.change({ gaps: 1 })
    await settle()
    expect(draft.state.text).toBe('second')
  })

  describe('that an earlier page left behind', () => {
    let kept: UnsavedText | null
    const reopen = async () => {
      draft.close()
      const copy = { claim: async () => kept, keep: (text: UnsavedText | null) => (kept = text), flush() {} }
      draft = new Draft(lock as unknown as DocumentLock, copy)
      await settle()
    }

    it('is shown, and saved with the next grant if nobody has saved since', async () => {
      kept = { text: 'typed before the crash', base: null }
      await reopen()
      expect(draft.state).toMatchObject({ text: kept?.text, status: 'kept', isOutdated: false })
      await edit()
      await settle(1000)
      expect(lock.content).toBe('typed before the crash')
      expect(kept).toBeNull()
    })

    it('overwrites nothing that was saved since', async () => {
      kept = { text: 'typed before the crash', base: null }
      lock.anotherWrites('theirs')
      await reopen()
      await edit()
      await settle(5000)
      expect(lock.content).toBe('theirs')
      expect(draft.state).toMatchObject({ text: 'typed before the crash', status: 'kept', isOutdated: true })
      expect(kept).toMatchObject({ text: 'typed before the crash' })
    })

    it('is kept as long as it is not saved', async () => {
      kept = null
      await reopen()
      await edit()
      draft.edit('typed')
      expect(kept).toMatchObject({ text: 'typed' })
      await settle(600)
      expect(kept).toBeNull()
    })
  })

  it('is saved completely before the lock is handed over', async () => {
    await edit()
    draft.edit('second')
    await draft.flush()
    expect(lock.content).toBe('second')
    lock.isOnline = false
    draft.edit('third')
    await expect(draft.flush()).rejects.toThrow('not saved')
  })

  it('is saved at once when another tab asks for the lock', async () => {
    await edit()
    draft.edit('second')
    lock.change({ request: { id: 'r', name: 'Ken', kind: 'take-over', until: 0 } })
    await settle()
    expect(lock.content).toBe('second')
  })

  it('can still be edited after the server refused it', async () => {
    await edit()
    draft.edit('x'.repeat(200))
    await settle(600)
    expect(draft.state).toMatchObject({ status: 'refused', reason: 'too long' })
    draft.edit('short')
    await settle(600)
    expect(lock.content).toBe('short')
  })

  describe('when the stored content cannot be read', () => {
    beforeEach(async () => {
      lock.isDamaged = true
      await edit()
    })

    it('overwrites it only when the user says so, and is saved automatically from then on', async () => {
      expect(draft.state).toMatchObject({ text: 'first', status: 'unreadable' })
      draft.edit('second')
      await settle(5000)
      expect(lock.isDamaged).toBe(true)
      await draft.saveMine()
      expect([lock.content, draft.state.status]).toEqual(['second', 'saved'])
      draft.edit('third')
      await settle(600)
      expect(lock.content).toBe('third')
    })

    it('can be discarded', async () => {
      draft.edit('second')
      draft.takeTheirs()
      await settle()
      expect(draft.state).toMatchObject({ text: 'first', status: 'unreadable' })
      await draft.flush()
      expect(lock.isDamaged).toBe(true)
    })

    it('does not overwrite what another tab has saved since', async () => {
      draft.edit('mine')
      lock.lose()
      lock.anotherWrites('theirs')
      await edit()
      expect(draft.state).toMatchObject({ text: 'mine', status: 'kept', stored: 'theirs' })
      await draft.saveMine()
      expect(lock.content).toBe('mine')
    })

    it('does not overwrite what another tab has saved since, also when the user has just agreed', async () => {
      draft.edit('mine')
      lock.lose()
      lock.anotherWrites('theirs')
      lock.take()
      await draft.saveMine()
      expect(lock.content).toBe('theirs')
      expect(draft.state).toMatchObject({ text: 'mine', status: 'kept', stored: 'theirs' })
    })

    it('shows the stored text as soon as it can be read', async () => {
      lock.anotherWrites('theirs')
      lock.change({ savedAt: 'now' })
      await settle()
      expect(draft.state).toMatchObject({ text: 'theirs', status: 'saved' })
    })
  })

  it('does not overwrite content that became unreadable before the next grant', async () => {
    await edit()
    lock.isOnline = false
    draft.edit('mine')
    lock.lose()
    await settle(5000)
    lock.isDamaged = true
    lock.isOnline = true
    lock.take()
    await settle(5000)
    expect(lock.isDamaged).toBe(true)
    expect(draft.state).toMatchObject({ text: 'mine', status: 'unreadable' })
  })

  it('does not overwrite content that is not text', async () => {
    Object.assign(lock, { content: { title: 'of another program' } })
    await edit()
    expect(draft.state.status).toBe('unreadable')
  })
})
