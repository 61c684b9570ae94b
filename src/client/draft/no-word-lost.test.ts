import fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkProperty } from '../../../test/property.ts'
import { LeaseError } from '../../core/index.ts'
import { FakeClock } from '../../testing/index.ts'
import { type DocumentLock, type DocumentLockState, INITIAL_STATE } from '../index.ts'
import { textCodec } from './codecs.ts'
import type { Unsaved } from './copy-record.ts'
import { LockDraft } from './lock-draft.ts'

const EVENTS = [
  'type',
  'type',
  'type',
  'wait',
  'take',
  'lose',
  'offline',
  'online',
  'answers are lost',
  'another writes above',
  'another writes below',
  'another writes the same line',
  'another goes on above',
  'another goes on below',
  'another goes on with the same line',
  'crash',
  'save now',
  'decide',
  'change of mind',
  'slow change of mind',
] as const

/** A document on a server, two people, and everything that may come between them. */
class World {
  readonly clock = new FakeClock()
  readonly typed: string[] = []
  content = 'title\nfirst\nlast'
  savedUnder: number | null = null
  grant = 0
  /** The latest grant of another tab. */
  othersGrant = -1
  isOnline = true
  isDeaf = false
  state: DocumentLockState = INITIAL_STATE
  kept: Unsaved | null = null
  #listeners = new Set<() => void>()
  draft = this.#open()

  async run(events: readonly (typeof EVENTS)[number][]): Promise<void> {
    await this.clock.advance(0)
    for (const event of events) await this.#do(event)
    for (const event of ['online', 'take', 'wait', 'decide', 'wait'] as const) await this.#do(event)
  }

  async #do(event: (typeof EVENTS)[number]): Promise<void> {
    const { content, isWritable, status } = this.draft.state
    switch (event) {
      case 'type':
        if (isWritable) this.draft.edit(`${content}${this.#word('mine')}`)
        break
      case 'wait':
        await this.clock.advance(40_000)
        break
      case 'take':
        if (this.isOnline) this.#change({ held: true, token: ++this.grant })
        break
      case 'lose':
        this.#change({ held: false })
        break
      case 'offline':
        this.isOnline = false
        this.#change({ connected: false })
        break
      case 'online':
        this.isOnline = true
        this.isDeaf = false
        this.#change({ connected: true })
        break
      case 'answers are lost':
        this.isDeaf = true
        break
      case 'crash':
        // The page is gone: nothing of it runs any more, and only the copy in the browser is left.
        this.#listeners.clear()
        this.state = { ...this.state, held: false, token: null }
        this.draft = this.#open()
        break
      case 'save now':
        await this.draft.flush().catch(() => {})
        break
      case 'decide':
        if (status === 'conflict') await this.draft.merge(bothOf(content, String(this.draft.state.theirs)))
        break
      case 'change of mind':
      case 'slow change of mind':
        if (status !== 'kept' && status !== 'conflict') break
        this.draft.takeTheirs()
        await this.clock.advance(event === 'change of mind' ? 0 : 40_000)
        this.draft.bringBack()
        break
      default:
        this.#anotherWrites(event)
    }
    await this.clock.advance(10)
  }

  /** Another tab takes the lock and saves, or saves again in its turn. */
  #anotherWrites(event: string): void {
    if (!event.startsWith('another goes on')) this.othersGrant = ++this.grant
    if (this.grant !== this.othersGrant) return
    this.savedUnder = this.grant
    const lines = this.content.split('\n')
    if (event.endsWith('above')) lines.unshift(this.#word('theirs').trim())
    else if (event.endsWith('below')) lines.splice(1, 0, this.#word('theirs').trim())
    else lines.push(`${lines.pop()}${this.#word('theirs')}`)
    this.content = lines.join('\n')
    this.#change({ held: false })
    if (this.isOnline) this.#change({ savedAt: `${this.grant} ${this.typed.length}` })
  }

  #word(whose: string): string {
    const word = `${whose}${this.typed.length}`
    this.typed.push(word)
    return ` ${word}`
  }

  #change(change: Partial<DocumentLockState>): void {
    this.state = { ...this.state, ...change }
    for (const listener of this.#listeners) listener()
  }

  #open(): LockDraft<string> {
    const world = this
    const listeners = new Set<() => void>()
    this.#listeners = listeners
    const isOpen = () => world.#listeners === listeners
    const lock: Partial<DocumentLock> = {
      get state() {
        return world.state
      },
      subscribe(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
      beforeRelease: () => () => {},
      touch() {},
      async load() {
        world.#checkOnline(isOpen())
        return { content: world.content, token: world.savedUnder, savedAt: null }
      },
      async save(content) {
        world.#checkOnline(isOpen())
        if (world.state.token !== world.grant) throw new LeaseError('stale-token', 'another had the lock')
        world.content = String(content)
        world.savedUnder = world.grant
        world.#checkOnline(!world.isDeaf)
      },
    }
    return new LockDraft({
      lock: lock as DocumentLock,
      codec: textCodec,
      copy: {
        async claim(accept) {
          if (world.kept) accept(world.kept)
        },
        keep(unsaved) {
          if (isOpen()) world.kept = unsaved?.() ?? null
        },
        flush() {},
      },
      clock: this.clock,
      afterMs: 600,
      withinMs: 2000,
    })
  }

  #checkOnline(isReached: boolean): void {
    if (!this.isOnline || !isReached) throw new LeaseError('store-unavailable', 'no answer')
  }
}

/** A person who keeps the words of both. */
function bothOf(mine: string, theirs: string): string {
  const missing = theirs.split(/\s+/).filter((word) => !mine.split(/\s+/).includes(word))
  return [mine, ...missing].join('\n')
}

it('no word is lost and none comes twice, whatever happens between two people', async () => {
  await checkProperty(
    fc.asyncProperty(fc.array(fc.constantFrom(...EVENTS), { maxLength: 40, size: 'max' }), async (events) => {
      const world = new World()
      await world.run(events)
      expect(world.draft.state).toMatchObject({ status: 'saved', content: world.content })
      const words = world.content.split(/\s+/).filter((word) => /\d/.test(word))
      expect(words.sort()).toEqual(world.typed.sort())
    }),
    { numRuns: 300 },
  )
})
