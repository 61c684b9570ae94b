import type { AutoSave, AutoSaveEvent } from '../../../src/autosave/index.ts'
import { SimProcess } from '../process.ts'
import type { OriginDisk } from './disk.ts'
import { processGlobals } from './globals.ts'
import type { Origin } from './origin.ts'
import { PageTarget } from './page-globals.ts'
import type { EditorsPlan } from './plan.ts'
import type { Stage } from './stage.ts'

export const PROJECT = 'story'
/** A tab that replaces a save has read the directory by then. */
const LOOKS_WITHIN_MS = 150

/** The whole state: all words that were written, on all ways that led to it. */
export interface Project {
  readonly words: readonly string[]
}

/** What became of what tabs have written, noted outside of what is judged. */
export interface EditorRecord {
  /** Words of saves that were reported as complete. */
  readonly acknowledged: Set<string>
  /** Words of edits that a closing page has put into its journal. */
  readonly journaled: Set<string>
  /** Words that a person has decided against. */
  readonly givenUp: Set<string>
  /** How many words were written. */
  count: number
}

/** A tab with an editor that saves its project. */
export class Editor {
  readonly name: string
  readonly process: SimProcess
  readonly autosave: AutoSave<Project>
  words: readonly string[] = []
  /** Calls that a person waits for. */
  pending = 0
  isOpen = true
  /** The project was loaded, so it can be edited. */
  isLoaded = false
  readonly #stage: Stage
  readonly #disk: OriginDisk
  readonly #record: EditorRecord
  readonly #window = new PageTarget()
  readonly #document = new PageTarget()
  readonly #endLocks: () => void
  #lastRead: readonly string[] = []

  constructor(name: string, stage: Stage, origin: Origin, disk: OriginDisk, record: EditorRecord) {
    const { world, story, programs, plan } = stage
    const { hasWebLocks, hold } = plan.autosave as EditorsPlan
    this.name = name
    this.#stage = stage
    this.#disk = disk
    this.#record = record
    const random = world.stream(name)
    this.process = new SimProcess(world, name, 1 + random.between(-0.005, 0.005), random, 5)
    const { process } = this
    const { locks, close } = origin.locksOf(process)
    this.#endLocks = close
    const window = this.#window
    const { createAutoSave } = programs.editor({
      ...processGlobals(process),
      window,
      document: this.#document,
      navigator: hasWebLocks ? { locks } : {},
      localStorage: origin.storage,
      BroadcastChannel: origin.channelOf(process),
      addEventListener: window.addEventListener.bind(window),
      removeEventListener: window.removeEventListener.bind(window),
    })
    this.autosave = createAutoSave<Project>({
      namespace: PROJECT,
      read: () => {
        this.#lastRead = this.words
        return { words: this.words }
      },
      directory: disk.rootFor(process),
      clock: process,
      hold,
      // What a conflict has replaced is looked for in the history.
      generations: 1000,
      onEvent: (event) => this.#witness(event),
    })
    story.tell(name, () => 'is opened')
    this.load()
  }

  get isRunning(): boolean {
    return this.isOpen && this.process.running
  }

  /** Edits without a save. */
  get isUnsaved(): boolean {
    return this.autosave.state.unsaved
  }

  /** Loads the best state, and gives up what only this tab has. */
  load(): void {
    this.#track('load', async () => {
      const [latest] = await this.autosave.restore({ limit: 1 })
      if (latest) {
        const { words } = await latest.load()
        this.#giveUp(this.words.filter((word) => !words.includes(word)))
        this.words = words
        this.#tell(() => `loads ${words.length} words from ${latest.source}`)
        this.#stage.story.reach(`restore: ${latest.source}`)
      }
      this.isLoaded = true
    })
  }

  write(): void {
    const word = `w${++this.#record.count}`
    this.words = [...this.words, word]
    this.#tell(() => `writes ${word}`)
    this.autosave.changed()
  }

  flush(): void {
    this.#track('flush', () => this.autosave.flush())
  }

  /** Replaces what another tab has saved, whatever that is when this tab looks. */
  overwrite(): void {
    this.#tell(() => 'overwrites the newer save')
    const mine = this.words
    const giveUpOthers = () =>
      this.#giveUp([...this.#record.acknowledged].filter((word) => !mine.includes(word)))
    this.#track('overwrite', async () => {
      for (const journal of await this.autosave.restore())
        if (journal.source === 'journal')
          this.#giveUp((await journal.read()).words.filter((word) => !mine.includes(word)))
      giveUpOthers()
      this.#stage.world.after(LOOKS_WITHIN_MS, giveUpOthers)
      await this.autosave.flush({ overwrite: true })
    })
  }

  takeover(): void {
    this.#tell(() => 'takes the lock over')
    this.#track('takeover', () => this.autosave.takeover())
  }

  /** The user closes the page. It has no time to write files. */
  leave(): void {
    this.#tell(() => 'is closed')
    this.#document.hidden = true
    this.#document.dispatch('visibilitychange')
    this.#window.dispatch('pagehide')
    this.#stage.world.after(0, () => this.#end())
  }

  /** The application closes its editor, and then the page. */
  async close(): Promise<void> {
    this.#tell(() => 'closes its editor')
    await this.autosave.close()
    this.#end()
  }

  crash(): void {
    this.#tell(() => 'crashes')
    this.#end()
  }

  hide(isHidden: boolean): void {
    this.#document.hidden = isHidden
    this.process.deliver(() => this.#document.dispatch('visibilitychange'))
  }

  #end(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.process.crash()
    this.#disk.drop(this.process)
    this.#endLocks()
  }

  #giveUp(words: readonly string[]): void {
    const fresh = words.filter((word) => !this.#record.givenUp.has(word))
    if (fresh.length > 0) this.#tell(() => `gives up ${fresh.join(' ')}`)
    for (const word of fresh) this.#record.givenUp.add(word)
  }

  #witness(event: AutoSaveEvent): void {
    const { story } = this.#stage
    if (event.type === 'autosave:state') {
      const { from, phase } = event
      if (from !== phase) {
        story.reach(`autosave: ${from} → ${phase}`)
        const { readOnly, stale, error } = this.autosave.state
        this.#tell(
          () =>
            `is ${phase}${readOnly ? ` (${readOnly})` : ''}${stale ? ', stale' : ''}${error ? `: ${error.message}` : ''}`,
        )
      }
    } else if (event.type === 'autosave:error') story.reach(`autosave: ${event.operation} ${event.code}`)
    else {
      story.reach(event.type)
      if (event.type === 'autosave:saved') {
        this.#tell(() => `has saved ${this.#lastRead.at(-1) ?? 'nothing'}`)
        for (const word of this.#lastRead) this.#record.acknowledged.add(word)
      }
      if (event.type === 'autosave:journaled') {
        this.#tell(() => `has ${this.words.at(-1) ?? 'nothing'} in its journal`)
        for (const word of this.words) this.#record.journaled.add(word)
      }
    }
  }

  #tell(what: () => string): void {
    this.#stage.story.tell(this.name, what)
  }

  #track(what: string, call: () => Promise<unknown>): void {
    const { story } = this.#stage
    this.pending++
    call().then(
      () => {
        this.pending--
        story.reach(`${what}: done`)
      },
      (error: { readonly code?: string }) => {
        this.pending--
        story.reach(`${what}: ${error.code}`)
        this.#tell(() => `${what} was rejected: ${error}`)
        if (typeof error.code !== 'string') story.violate(`${what} of ${this.name} rejects with ${error}`)
        // The person tries again.
        if (what === 'load' && this.isOpen) this.process.setTimer(() => this.load(), 500)
      },
    )
  }
}
