import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LeaseError } from '../../core/index.ts'
import { FakeClock } from '../../testing/index.ts'
import { type DocumentLock, type DocumentLockState, INITIAL_STATE } from '../index.ts'
import { type DraftCodec, jsonCodec, textCodec } from './codecs.ts'
import type { Unsaved } from './copy-record.ts'
import type { Draft } from './draft-types.ts'
import { LockDraft } from './lock-draft.ts'
import { type CopyPort, UnsavedCopy } from './unsaved-copy.ts'

const UNREADABLE = new LeaseError('store-failed', 'cannot be read', {
  cause: { error: 'content_unreadable' },
})
const BASE = 'one\ntwo\nthree'

/** A server with one document, and a lock on it that a test moves by hand. */
class FakeLock {
  state: DocumentLockState = INITIAL_STATE
  content: unknown = BASE
  savedUnder: number | null = null
  /** The latest grant, no matter who has it. */
  grant = 0
  isOnline = true
  isDamaged = false
  /** Saves arrive at the server, and the answers are lost. */
  isDeaf = false
  readonly saves: unknown[] = []
  readonly steps = new Set<() => unknown>()
  loads = 0
  slowLoads: (() => void)[] | undefined
  slowSaves: (() => void)[] | undefined
  touches = 0
  readonly #listeners = new Set<() => void>()

  touch = () => this.touches++

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  beforeRelease = (work: () => unknown) => {
    this.steps.add(work)
    return () => this.steps.delete(work)
  }

  load = async () => {
    this.loads++
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
    this.saves.push(content)
    this.content = content
    this.savedUnder = this.grant
    this.isDamaged = false
    if (this.slowSaves) await new Promise<void>((resolve) => this.slowSaves?.push(resolve))
    if (this.isDeaf) throw new LeaseError('store-unavailable', 'no answer')
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
  anotherWrites(content: unknown): void {
    this.savedUnder = ++this.grant
    this.content = content
    this.isDamaged = false
  }

  #checkOnline(): void {
    if (!this.isOnline) throw new LeaseError('store-unavailable', 'no network')
  }
}

describe('a draft', () => {
  let clock: FakeClock
  let lock: FakeLock
  let draft: Draft<string>
  const openDraft = <T>(codec: DraftCodec<T>, copy?: CopyPort): Draft<T> =>
    new LockDraft({
      lock: lock as unknown as DocumentLock,
      codec,
      copy,
      clock,
      afterMs: 600,
      withinMs: 2000,
    })
  beforeEach(async () => {
    clock = new FakeClock()
    lock = new FakeLock()
    draft = openDraft(textCodec)
    await settle()
  })
  afterEach(() => draft.close())
  const settle = (ms = 0) => clock.advance(ms)
  const edit = async () => {
    lock.take()
    await settle()
  }

  /** Types `mine`, loses the lock before that is saved, and another tab saves. */
  const loseTo = async (theirs: string, mine = 'mine') => {
    await edit()
    lock.isOnline = false
    draft.edit(mine)
    lock.lose()
    await settle()
    lock.anotherWrites(theirs)
    lock.isOnline = true
    lock.change({ savedAt: 'later' })
    await settle()
  }

  it('a draft is loaded, edited and saved automatically', async () => {
    expect(draft.state).toMatchObject({ content: BASE, status: 'saved', isWritable: false, isUnsaved: false })
    await edit()
    expect(draft.state.isWritable).toBe(true)
    draft.edit('second')
    expect(draft.state).toMatchObject({ status: 'dirty', isUnsaved: true })
    await settle(600)
    expect(lock.content).toBe('second')
    expect(draft.state).toMatchObject({ status: 'saved', isUnsaved: false, stored: 'second' })
  })

  it('a draft is saved while somebody types without a pause', async () => {
    await edit()
    for (let n = 0; n < 10; n++) {
      draft.edit(`word ${n}`)
      await settle(300)
    }
    expect(lock.content).toMatch(/^word \d$/)
  })

  it('a draft is not saved yet if the server has confirmed an earlier content', async () => {
    await edit()
    lock.slowSaves = []
    draft.edit('second')
    await settle(600)
    expect(draft.state.status).toBe('saving')
    draft.edit('third')
    const [answer] = lock.slowSaves
    lock.slowSaves = undefined
    answer?.()
    await settle()
    expect(draft.state).toMatchObject({ content: 'third', status: 'dirty', stored: 'second' })
    await settle(600)
    expect(lock.saves).toEqual(['second', 'third'])
    expect(draft.state.status).toBe('saved')
  })

  it('a draft sends one save after the other', async () => {
    await edit()
    lock.slowSaves = []
    draft.edit('second')
    const flushed = draft.flush()
    await settle()
    draft.edit('third')
    await settle(5000)
    expect(lock.saves).toEqual(['second'])
    for (const answer of lock.slowSaves.splice(0)) answer()
    lock.slowSaves = undefined
    await settle(600)
    await flushed
    expect(lock.saves).toEqual(['second', 'third'])
  })

  it('a draft reads a long content only when it is needed, and once', async () => {
    await edit()
    let reads = 0
    for (let n = 0; n < 100; n++)
      draft.edit(() => {
        reads++
        return `text ${n}`
      })
    expect(reads).toBe(0)
    expect([draft.state.content, draft.state.content]).toEqual(['text 99', 'text 99'])
    await settle(600)
    expect([lock.content, reads]).toEqual(['text 99', 1])
  })

  it('a draft cannot be edited before it is known what others saved before the grant', async () => {
    lock.slowLoads = []
    lock.take()
    expect(draft.state).toMatchObject({ status: 'loading', isWritable: false })
    for (const answer of lock.slowLoads) answer()
    lock.slowLoads = undefined
    await settle()
    expect(draft.state).toMatchObject({ status: 'saved', isWritable: true })
  })

  it('a draft is loaded again after a load failed, so that the holder can write', async () => {
    lock.isOnline = false
    lock.take()
    await settle()
    expect(draft.state).toMatchObject({ status: 'loading', error: { code: 'store-unavailable' } })
    lock.isOnline = true
    await settle(1250)
    expect(draft.state).toMatchObject({ status: 'saved', isWritable: true, error: null })
  })

  it('a draft waits longer after each failure, and not at all when the server is back', async () => {
    lock.isOnline = false
    lock.take()
    await settle(60_000)
    expect(lock.loads).toBeLessThan(12)
    lock.change({ connected: false })
    lock.isOnline = true
    lock.change({ connected: true })
    await settle()
    expect(draft.state.status).toBe('saved')
  })

  it('a draft is not replaced by a load that arrives late', async () => {
    await edit()
    lock.slowLoads = []
    lock.change({ savedAt: 'now' })
    const late = lock.slowLoads
    lock.slowLoads = undefined
    draft.edit('second')
    await settle(600)
    for (const answer of late) answer()
    await settle()
    expect(draft.state).toMatchObject({ content: 'second', status: 'saved' })
  })

  it.each(['arrives', 'is lost'])(
    'a draft that the user has changed back is saved again after a save that is on its way when the stored content is loaded, if its answer %s',
    async (answer) => {
      await edit()
      lock.slowLoads = []
      lock.change({ savedAt: 'news' })
      lock.slowSaves = []
      draft.edit('typed')
      await settle(600)
      draft.edit(BASE)
      lock.isDeaf = answer === 'is lost'
      if (lock.isDeaf) lock.slowSaves.shift()?.()
      await settle()
      for (const deliver of lock.slowLoads) deliver()
      lock.slowLoads = undefined
      await settle()
      const { content: stored } = lock
      const { status } = draft.state
      lock.isDeaf = false
      for (const deliver of lock.slowSaves) deliver()
      lock.slowSaves = undefined
      await settle(3000)
      expect({ stored, status }).toEqual({ stored: 'typed', status: 'dirty' })
      expect(lock.content).toBe(BASE)
      expect(draft.state).toMatchObject({ status: 'saved', content: BASE })
    },
  )

  it('a draft is saved by a holder whose lock expired, if nobody got the lock since', async () => {
    await edit()
    draft.edit('second')
    lock.lose()
    await settle()
    expect(lock.content).toBe('second')
  })

  it('a draft is kept after the lock was lost without a connection, and saved if nobody got the lock since', async () => {
    await edit()
    lock.isOnline = false
    draft.edit('second')
    lock.lose()
    await settle(5000)
    expect(draft.state).toMatchObject({ status: 'kept', isUnsaved: true })
    lock.isOnline = true
    lock.change({ connected: true })
    await settle()
    expect(lock.content).toBe('second')
    expect(draft.state.status).toBe('saved')
  })

  it('a draft is kept, and saved with the next grant if nobody has saved since', async () => {
    await edit()
    lock.isOnline = false
    draft.edit('second')
    lock.lose()
    await settle(5000)
    lock.isOnline = true
    lock.take()
    await settle()
    expect(lock.content).toBe('second')
  })

  it('a draft is kept if the page lets the user write without the lock', async () => {
    draft.edit('too early')
    expect(draft.state).toMatchObject({ content: 'too early', status: 'kept', isUnsaved: true })
    await edit()
    expect(lock.content).toBe('too early')
  })

  it('a draft does not take its own save for that of another, if the answer was lost', async () => {
    await edit()
    lock.isDeaf = true
    draft.edit('second')
    await settle(600)
    draft.edit('second, and more')
    lock.lose()
    lock.isDeaf = false
    lock.isOnline = false
    await settle(100)
    lock.take()
    lock.isOnline = true
    await settle(20_000)
    expect(lock.content).toBe('second, and more')
    expect(draft.state.status).toBe('saved')
  })

  describe('with edits beside what another tab has saved in between', () => {
    it('an edit beside what another tab has saved in between is merged and saved by itself if the edits are separate', async () => {
      await loseTo('one\ntwo\nTHREE', 'ONE\ntwo\nthree')
      expect(draft.state).toMatchObject({ content: 'ONE\ntwo\nthree', status: 'kept', isOutdated: true })
      await edit()
      expect(lock.content).toBe('ONE\ntwo\nTHREE')
      expect(draft.state).toMatchObject({ content: 'ONE\ntwo\nTHREE', status: 'saved', isOutdated: false })
    })

    it('an edit beside what another tab has saved in between is a conflict if both have changed the same words, and overwrites nothing', async () => {
      await loseTo('one\nTWO!\nTHREE', 'ONE\nTwo?\nthree')
      await edit()
      await settle(60_000)
      expect(lock.content).toBe('one\nTWO!\nTHREE')
      expect(draft.state).toMatchObject({
        status: 'conflict',
        content: 'ONE\nTwo?\nTHREE',
        theirs: 'ONE\nTWO!\nTHREE',
        stored: 'one\nTWO!\nTHREE',
        isOutdated: true,
        isWritable: false,
      })
    })

    it('an edit beside what another tab has saved in between is saved with the edits of both when the user takes mine', async () => {
      await loseTo('one\nTWO!\nTHREE', 'ONE\nTwo?\nthree')
      await edit()
      await draft.takeMine()
      expect(lock.content).toBe('ONE\nTwo?\nTHREE')
      expect(draft.state).toMatchObject({ status: 'saved', theirs: null })
    })

    it('an edit beside what another tab has saved in between is saved with the next grant when the user takes mine without the lock', async () => {
      await loseTo('theirs')
      await draft.takeMine()
      expect(draft.state).toMatchObject({ status: 'kept', content: 'mine', theirs: null })
      await edit()
      expect(lock.content).toBe('mine')
    })

    it('a conflict ends with what the user has made of both', async () => {
      await loseTo('theirs')
      await edit()
      await draft.merge('theirs and mine')
      expect([lock.content, draft.state.status]).toEqual(['theirs and mine', 'saved'])
    })

    it('a draft in conflict can be edited, and is saved only after the user has decided', async () => {
      await loseTo('theirs')
      await edit()
      draft.edit('mine, and theirs')
      await settle(5000)
      expect([lock.content, draft.state.status]).toEqual(['theirs', 'conflict'])
      await draft.takeMine()
      expect(lock.content).toBe('mine, and theirs')
    })

    it('a draft in conflict shows what the holder saves later in the same turn, and removes none of it', async () => {
      await loseTo('one\nTWO!\nthree', 'one\nTwo?\nthree')
      lock.content = 'one\nTWO!\nthree and four'
      lock.change({ savedAt: 'later in the turn' })
      await settle()
      expect(draft.state).toMatchObject({
        status: 'conflict',
        content: 'one\nTwo?\nthree and four',
        theirs: 'one\nTWO!\nthree and four',
      })
      await edit()
      await draft.takeMine()
      expect(lock.content).toBe('one\nTwo?\nthree and four')
    })

    it('stays in conflict while others go on writing, and brings back nothing that they have removed', async () => {
      await loseTo('one\nTWO!\nTHREE', 'ONE\nTwo?\nthree')
      lock.anotherWrites('one\nTWO!\nthree')
      lock.change({ savedAt: 'even later' })
      await settle()
      expect(draft.state).toMatchObject({
        status: 'conflict',
        content: 'ONE\nTwo?\nthree',
        theirs: 'ONE\nTWO!\nthree',
      })
    })

    it('an edit beside what another tab has saved in between is no conflict any more when the others have written the same', async () => {
      await loseTo('theirs')
      lock.anotherWrites('mine')
      lock.change({ savedAt: 'even later' })
      await settle()
      expect(draft.state).toMatchObject({ status: 'saved', content: 'mine', theirs: null, isUnsaved: false })
    })

    it('a new grant never overwrites what another tab has saved in between, also if no save was refused before', async () => {
      await edit()
      lock.isOnline = false
      draft.edit('mine')
      await settle(600)
      lock.lose()
      lock.anotherWrites('theirs')
      lock.take()
      lock.isOnline = true
      await settle(20_000)
      expect(lock.content).toBe('theirs')
      expect(draft.state.status).toBe('conflict')
    })

    it('an edit beside what another tab has saved in between is replaced by the stored content when the user wants that, and can be brought back', async () => {
      await loseTo('theirs')
      await edit()
      draft.takeTheirs()
      await settle()
      expect(draft.state).toMatchObject({ content: 'theirs', status: 'saved', dropped: 'mine', theirs: null })
      draft.bringBack()
      await settle(5000)
      expect(draft.state).toMatchObject({
        content: 'mine',
        status: 'conflict',
        theirs: 'theirs',
        dropped: null,
      })
      expect(lock.content).toBe('theirs')
    })

    it('a draft keeps and saves the separate edits of the user who takes theirs, and all of it can be brought back', async () => {
      await loseTo('one\nTWO!\nTHREE', 'ONE\nTwo?\nthree')
      await edit()
      draft.takeTheirs()
      await settle()
      expect(draft.state).toMatchObject({
        status: 'saved',
        content: 'ONE\nTWO!\nTHREE',
        dropped: 'ONE\nTwo?\nTHREE',
        theirs: null,
      })
      expect(lock.content).toBe('ONE\nTWO!\nTHREE')
      draft.bringBack()
      await settle(5000)
      expect(draft.state).toMatchObject({
        status: 'conflict',
        content: 'ONE\nTwo?\nTHREE',
        theirs: 'ONE\nTWO!\nTHREE',
        dropped: null,
      })
      expect(lock.content).toBe('ONE\nTWO!\nTHREE')
    })

    it('an edit beside what another tab has saved in between is saved with the next grant when the user takes theirs without the lock', async () => {
      await loseTo('one\nTWO!\nTHREE', 'ONE\nTwo?\nthree')
      draft.takeTheirs()
      await settle()
      expect(draft.state).toMatchObject({ status: 'kept', content: 'ONE\nTWO!\nTHREE', isUnsaved: true })
      await edit()
      expect(lock.content).toBe('ONE\nTWO!\nTHREE')
    })

    it('an edit is not saved any more when another load has shown meanwhile that others went on from it', async () => {
      await loseTo('theirs')
      draft.takeTheirs()
      await settle()
      lock.anotherWrites('theirs, and more')
      lock.change({ savedAt: 'even later' })
      await settle()
      lock.slowLoads = []
      draft.bringBack()
      lock.take()
      draft.takeTheirs()
      await settle()
      expect(draft.state).toMatchObject({ status: 'saving', content: 'theirs' })
      for (const answer of lock.slowLoads.splice(0)) {
        answer()
        await settle()
      }
      lock.slowLoads = undefined
      await settle(5000)
      expect(draft.state).toMatchObject({ status: 'saved', content: 'theirs, and more' })
      expect([lock.content, lock.saves]).toEqual(['theirs, and more', []])
    })

    it('an edit after the user gave up one that could not be saved is saved by itself', async () => {
      await edit()
      lock.isOnline = false
      draft.edit('mine')
      await settle(600)
      draft.takeTheirs()
      lock.isOnline = true
      await settle(60_000)
      expect(draft.state).toMatchObject({ status: 'saved', content: BASE })
      draft.edit('typed later')
      await settle(600)
      expect([lock.content, draft.state.status]).toEqual(['typed later', 'saved'])
    })

    it('an edit that is brought back and decided before the stored version is loaded is saved only over the version that the user has seen', async () => {
      await loseTo('theirs')
      draft.takeTheirs()
      await settle()
      lock.anotherWrites('theirs, and more')
      lock.change({ savedAt: 'even later' })
      await settle()
      expect(draft.state).toMatchObject({ status: 'saved', content: 'theirs, and more' })
      lock.slowLoads = []
      draft.bringBack()
      expect(draft.state).toMatchObject({ status: 'conflict', content: 'mine', theirs: 'theirs' })
      await draft.takeMine()
      lock.slowLoads = undefined
      await edit()
      await settle(5000)
      expect(lock.content).toBe('theirs, and more')
      expect(draft.state).toMatchObject({ status: 'conflict', content: 'mine', theirs: 'theirs, and more' })
    })

    it.each([
      ['succeeds', false],
      ['fails', true],
    ])(
      'an edit is a conflict again if it is brought back while theirs is being saved, and that save %s',
      async (_, isDeaf) => {
        await loseTo('one\nTWO!\nTHREE', 'ONE\nTwo?\nthree')
        await edit()
        lock.slowSaves = []
        draft.takeTheirs()
        await settle()
        expect(draft.state.status).toBe('saving')
        draft.bringBack()
        await settle()
        lock.isDeaf = isDeaf
        for (const answer of lock.slowSaves.splice(0)) answer()
        lock.slowSaves = undefined
        await settle(60_000)
        expect(draft.state).toMatchObject({ status: 'conflict', content: 'ONE\nTwo?\nTHREE' })
        expect(lock.saves).toEqual(['ONE\nTWO!\nTHREE'])
      },
    )

    it('an edit beside what another tab has saved in between is not saved over what another tab saved while this tab read for an earlier grant', async () => {
      await loseTo('theirs')
      await edit()
      lock.slowLoads = []
      void draft.takeMine()
      await settle()
      const [late] = lock.slowLoads.splice(0)
      expect(late).toBeDefined()
      lock.slowLoads = undefined
      lock.lose()
      lock.anotherWrites('theirs, later')
      lock.take()
      late?.()
      await settle(60_000)
      expect(lock.content).toBe('theirs, later')
      expect(draft.state).toMatchObject({ status: 'conflict', content: 'mine', theirs: 'theirs, later' })
    })

    it('a draft in conflict does not overwrite a version that the user has not seen', async () => {
      await loseTo('theirs')
      lock.anotherWrites('theirs, later')
      lock.take()
      await draft.takeMine()
      await settle()
      expect(lock.content).toBe('theirs, later')
      expect(draft.state).toMatchObject({ content: 'mine', status: 'conflict', stored: 'theirs, later' })
    })
  })

  it('a draft is saved when somebody who was signed out is back', async () => {
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

  it('a draft is no conflict with itself because of its line ends', async () => {
    await edit()
    draft.edit('one\r\ntwo')
    await settle(600)
    expect([lock.content, draft.state.status]).toEqual(['one\ntwo', 'saved'])
    lock.isOnline = false
    draft.edit('one\r\ntwo\r\nthree')
    lock.lose()
    await settle()
    lock.isOnline = true
    await edit()
    await settle(30_000)
    expect([lock.content, draft.state.status]).toEqual(['one\ntwo\nthree', 'saved'])
  })

  it('a draft that cannot be encoded is refused with the reason, and can be corrected', async () => {
    await draft.close()
    const encode = (text: string) => {
      if (text.includes('?')) throw new TypeError('no question marks')
      return text
    }
    draft = openDraft({ ...textCodec, encode }, new UnsavedCopy('questions'))
    await edit()
    draft.edit('what?')
    await settle(600)
    expect(draft.state).toMatchObject({
      status: 'refused',
      content: 'what?',
      isWritable: true,
      isUnsaved: true,
      error: { message: expect.stringContaining('no question marks') },
    })
    draft.edit('what')
    await settle(600)
    expect([lock.content, draft.state.status]).toEqual(['what', 'saved'])
  })

  it('a draft is loaded again after events may have been missed', async () => {
    lock.anotherWrites('second')
    lock.change({ gaps: 1 })
    await settle()
    expect(draft.state.content).toBe('second')
  })

  describe('that earlier pages left behind', () => {
    let left: Unsaved[]
    let kept: Unsaved | null
    let pageEnds = () => {}
    const reopen = async () => {
      await draft.close()
      kept = null
      draft = openDraft(textCodec, {
        async claim(accept, onLeft) {
          pageEnds = onLeft
          const index = left.findIndex((unsaved) => accept(unsaved))
          if (index >= 0) kept = left.splice(index, 1)[0] ?? null
        },
        keep(unsaved) {
          kept = unsaved?.() ?? null
        },
        flush() {},
      })
      await settle()
    }
    it('a draft that earlier pages left behind does not keep the user from writing if the storage of the browser never answers, and comes when it does', async () => {
      await draft.close()
      let offer = (_unsaved: Unsaved) => false
      draft = openDraft(textCodec, {
        claim: (accept) =>
          new Promise((resolve) => {
            offer = (unsaved) => {
              resolve()
              return accept(unsaved)
            }
          }),
        keep() {},
        flush() {},
      })
      lock.take()
      await settle(2000)
      expect(draft.state).toMatchObject({ status: 'saved', isWritable: true, content: BASE })
      expect(offer(leave('typed before the crash'))).toBe(true)
      await settle()
      expect([lock.content, draft.state.status]).toEqual(['typed before the crash', 'saved'])
    })

    it('a draft that another page leaves behind while this one is open is taken when everything here is saved', async () => {
      left = []
      await reopen()
      await edit()
      draft.edit('ONE\ntwo\nthree')
      left = [leave('one\ntwo\nTHREE')]
      pageEnds()
      await settle()
      expect(left).toHaveLength(1)
      await settle(600)
      await settle()
      expect([lock.content, left, kept]).toEqual(['ONE\ntwo\nTHREE', [], null])
      left = [leave('ONE\nTWO\nTHREE', { base: { token: lock.savedUnder, content: lock.content } })]
      pageEnds()
      await settle()
      expect([lock.content, left]).toEqual(['ONE\nTWO\nTHREE', []])
    })

    it('a draft that another page leaves behind during a save of this one is not taken for a later edit of what is saved', async () => {
      left = []
      await reopen()
      await edit()
      draft.edit('ONE and more\ntwo\nthree')
      lock.slowSaves = []
      await settle(600)
      lock.change({ savedAt: 'while the answer is on its way' })
      await settle()
      expect(draft.state.status).toBe('saved')
      lock.slowLoads = []
      left = [leave('ONE\ntwo\nthree')]
      pageEnds()
      await settle()
      expect(draft.state).toMatchObject({ status: 'kept', content: 'ONE\ntwo\nthree' })
      for (const answer of lock.slowSaves.splice(0)) answer()
      lock.slowSaves = undefined
      lock.slowLoads = undefined
      await settle(5000)
      expect(lock.content).toBe('ONE and more\ntwo\nthree')
      expect(draft.state).toMatchObject({ status: 'conflict', content: 'ONE\ntwo\nthree' })
    })

    it('a draft that earlier pages left behind does not replace what the user has just given up and may bring back', async () => {
      left = []
      await reopen()
      await loseTo('theirs')
      left = [leave('of another page')]
      draft.takeTheirs()
      await settle()
      expect(draft.state).toMatchObject({ content: 'theirs', dropped: 'mine' })
      expect(left).toHaveLength(1)
    })

    it('a draft that earlier pages left behind can be decided before the stored version is loaded', async () => {
      lock.anotherWrites('one\nTWO!\nthree')
      const base = { token: lock.savedUnder, content: lock.content }
      left = [leave('one\nTwo?\nTHREE', { base, theirs: ['one\nTWO!\nTHREE'] })]
      lock.slowLoads = []
      await reopen()
      expect(draft.state).toMatchObject({ status: 'conflict', stored: 'one\nTWO!\nthree' })
      draft.takeTheirs()
      for (const answer of lock.slowLoads.splice(0)) answer()
      lock.slowLoads = undefined
      await edit()
      expect([lock.content, draft.state.status]).toEqual(['one\nTWO!\nTHREE', 'saved'])
    })

    const leave = (content: string, more: Partial<Unsaved> = {}): Unsaved => ({
      content,
      base: { token: null, content: BASE },
      theirs: [],
      sentWith: null,
      ...more,
    })

    it('a draft that earlier pages left behind is shown, and saved with the next grant if nobody has saved since', async () => {
      left = [leave('typed before the crash')]
      await reopen()
      expect(draft.state).toMatchObject({
        content: 'typed before the crash',
        status: 'kept',
        isOutdated: false,
      })
      await edit()
      expect(lock.content).toBe('typed before the crash')
      expect(kept).toBeNull()
    })

    it('a draft that earlier pages left behind is merged with what was saved since', async () => {
      left = [leave('ONE\ntwo\nthree')]
      lock.anotherWrites('one\ntwo\nTHREE')
      await reopen()
      await edit()
      expect(lock.content).toBe('ONE\ntwo\nTHREE')
    })

    it('a draft that earlier pages left behind overwrites nothing that was saved since', async () => {
      left = [leave('typed before the crash')]
      lock.anotherWrites('theirs')
      await reopen()
      await edit()
      await settle(5000)
      expect(lock.content).toBe('theirs')
      expect(draft.state).toMatchObject({ content: 'typed before the crash', status: 'conflict' })
      expect(kept).toMatchObject({ content: 'typed before the crash', theirs: ['theirs'] })
    })

    it('a draft that earlier pages left behind is still a conflict if it was one', async () => {
      lock.anotherWrites('theirs')
      left = [leave('mine', { base: { token: 1, content: 'theirs' }, theirs: ['theirs'] })]
      await reopen()
      await edit()
      await settle(5000)
      expect([lock.content, draft.state.status]).toEqual(['theirs', 'conflict'])
    })

    it('a draft that earlier pages left behind is forgotten if its last save arrived after all', async () => {
      lock.anotherWrites('typed before the crash')
      left = [leave('typed before the crash', { sentWith: 1 })]
      await reopen()
      expect(draft.state).toMatchObject({ status: 'saved', isUnsaved: false })
      expect(kept).toBeNull()
    })

    it('a draft that earlier pages left behind continues an earlier save of its own', async () => {
      lock.anotherWrites('typed before')
      left = [leave('typed before the crash', { sentWith: 1 })]
      await reopen()
      await edit()
      expect(lock.content).toBe('typed before the crash')
    })

    it('a draft that earlier pages left behind is taken one page after the other', async () => {
      left = [leave('ONE\ntwo\nthree'), leave('one\ntwo\nTHREE')]
      await reopen()
      await edit()
      await settle()
      expect(lock.content).toBe('ONE\ntwo\nTHREE')
      expect([left, kept]).toEqual([[], null])
    })

    it('a draft that earlier pages left behind stays where it is while the user has typed something else', async () => {
      left = []
      await reopen()
      await edit()
      left = [leave('of a page that is gone now')]
      draft.edit('typed')
      expect(kept).toMatchObject({ content: 'typed' })
      await settle(600)
      expect([lock.content, left.length]).toEqual(['typed', 1])
    })

    it('a draft that earlier pages left behind is kept until it is saved, also while the draft is being closed', async () => {
      left = []
      await reopen()
      await edit()
      draft.edit('typed')
      expect(kept).toMatchObject({ content: 'typed', base: { token: null, content: BASE } })
      lock.slowSaves = []
      const closed = draft.close()
      await settle()
      expect([lock.steps.size, kept]).toEqual([1, expect.objectContaining({ content: 'typed' })])
      for (const answer of lock.slowSaves) answer()
      await closed
      expect([lock.content, kept, lock.steps.size]).toEqual(['typed', null, 0])
    })
  })

  it('a draft is saved completely before the lock is handed over', async () => {
    await edit()
    draft.edit('second')
    await Promise.all([...lock.steps].map((step) => step()))
    expect(lock.content).toBe('second')
    lock.isOnline = false
    draft.edit('third')
    await expect(draft.flush()).rejects.toMatchObject({ code: 'store-unavailable' })
  })

  it('a draft counts as input of a holder, wherever it was typed', async () => {
    await edit()
    draft.edit('typed in an iframe')
    expect(lock.touches).toBe(1)
  })

  it('a draft is saved at once when another tab asks for the lock', async () => {
    await edit()
    draft.edit('second')
    lock.change({
      request: {
        id: 'r',
        name: 'Ken',
        kind: 'takeover',
        until: 0,
        isOwn: false,
        passes: [],
        postponedUntil: null,
      },
    })
    await settle()
    expect(lock.content).toBe('second')
  })

  it('a draft can still be edited after the server refused it', async () => {
    await edit()
    draft.edit('x'.repeat(200))
    await settle(600)
    expect(draft.state).toMatchObject({ status: 'refused', isWritable: true, error: { message: 'too long' } })
    draft.edit('short')
    await settle(600)
    expect(lock.content).toBe('short')
    expect(draft.state.error).toBeNull()
  })

  it('a draft whose save was refused because this tab has no lock is saved with the next grant', async () => {
    await edit()
    const { save } = lock
    lock.save = async () => {
      lock.lose()
      throw new LeaseError('lease-lost', 'this tab has no lock')
    }
    draft.edit('kept')
    await settle(600)
    expect(draft.state).toMatchObject({ status: 'kept', content: 'kept' })
    lock.save = save
    lock.take()
    await settle(600)
    expect(lock.content).toBe('kept')
    expect(draft.state).toMatchObject({ status: 'saved', error: null })
  })

  it('a draft accepts no edit after it was closed', async () => {
    await draft.close()
    expect(() => draft.edit('late')).toThrow(expect.objectContaining({ code: 'closed' }))
  })

  describe('when the stored content cannot be read', () => {
    beforeEach(async () => {
      lock.isDamaged = true
      await edit()
    })

    it('a draft when the stored content cannot be read overwrites it only when the user says so, and is saved automatically from then on', async () => {
      expect(draft.state).toMatchObject({ content: BASE, status: 'unreadable', isUnsaved: false })
      draft.edit('second')
      await settle(5000)
      expect([lock.isDamaged, draft.state.isUnsaved]).toEqual([true, true])
      await draft.takeMine()
      expect([lock.content, draft.state.status]).toEqual(['second', 'saved'])
      draft.edit('third')
      await settle(600)
      expect(lock.content).toBe('third')
    })

    it('a draft when the stored content cannot be read can be discarded', async () => {
      draft.edit('second')
      draft.takeTheirs()
      await settle()
      expect(draft.state).toMatchObject({ content: BASE, status: 'unreadable', isUnsaved: false })
      await draft.flush()
      expect(lock.isDamaged).toBe(true)
    })

    it('a draft when the stored content cannot be read does not overwrite what another tab has saved since', async () => {
      draft.edit('mine')
      lock.lose()
      lock.anotherWrites('theirs')
      await edit()
      expect(draft.state).toMatchObject({ content: 'mine', status: 'conflict', stored: 'theirs' })
      await draft.takeMine()
      expect(lock.content).toBe('mine')
    })

    it('a draft when the stored content cannot be read does not overwrite what another tab has saved since, also when the user has just agreed', async () => {
      draft.edit('mine')
      lock.lose()
      lock.anotherWrites('theirs')
      lock.take()
      await draft.takeMine()
      expect(lock.content).toBe('theirs')
      await settle()
      expect(draft.state).toMatchObject({ content: 'mine', status: 'conflict', stored: 'theirs' })
    })

    it('a draft when the stored content cannot be read shows the stored content as soon as it can be read', async () => {
      lock.anotherWrites('theirs')
      lock.change({ savedAt: 'now' })
      await settle()
      expect(draft.state).toMatchObject({ content: 'theirs', status: 'saved' })
    })
  })

  it('a draft does not overwrite content that became unreadable before the next grant', async () => {
    await edit()
    lock.isOnline = false
    draft.edit('mine')
    lock.lose()
    await settle(5000)
    lock.isDamaged = true
    lock.isOnline = true
    lock.take()
    await settle(20_000)
    expect(lock.isDamaged).toBe(true)
    expect(draft.state).toMatchObject({ content: 'mine', status: 'unreadable' })
  })

  it('a draft does not overwrite content that is not text', async () => {
    lock.content = { title: 'of another program' }
    await edit()
    expect(draft.state.status).toBe('unreadable')
  })

  it('a codec of JSON whose check is no function is refused at once', () => {
    expect(() => jsonCodec({}, { title: 'text' } as never)).toThrow(
      'check: expected a function, got an object',
    )
  })

  it('a draft can be any JSON, and merges its fields', async () => {
    lock.content = { title: 'Plan', tags: ['a'] }
    await using notes = openDraft(jsonCodec({ title: '', tags: [] as string[] }))
    await settle()
    expect(notes.state.content).toEqual({ title: 'Plan', tags: ['a'] })
    notes.edit({ title: 'The plan', tags: ['a'] })
    lock.anotherWrites({ title: 'Plan', tags: ['a', 'b'] })
    await edit()
    expect(lock.content).toEqual({ title: 'The plan', tags: ['a', 'b'] })
  })

  it('a draft is always a conflict with another version if its codec cannot merge', async () => {
    await draft.close()
    const { encode, decode } = textCodec
    draft = openDraft({ encode, decode })
    await settle()
    await loseTo('one\ntwo\nTHREE', 'ONE\ntwo\nthree')
    expect(draft.state).toMatchObject({ status: 'conflict', content: 'ONE\ntwo\nthree' })
  })
})
