import type { Random } from '../world.ts'
import { OriginDisk } from './disk.ts'
import { Editor, type EditorRecord, type Project } from './editor.ts'
import type { Link } from './link.ts'
import type { Origin } from './origin.ts'
import type { Part } from './part.ts'
import type { AutoSaveTrouble, EditorsPlan, Trouble } from './plan.ts'
import type { Stage } from './stage.ts'

/** The browser, which may also be one of the document service. */
const BROWSER = 'Ann'
const HOUR_MS = 3_600_000
const LOOK_MS = 400
/** Also a lock file whose tab is gone has expired, and a tab that stood still was taken over. */
const PATIENCE_MS = 240_000
const CLOSED_WITHIN_MS = 30_000

/** Tabs with a project that saves itself, on one disk. */
export class EditorsPart implements Part {
  readonly insideLinks: readonly Link[] = []
  readonly outsideLinks: readonly Link[] = []
  readonly #stage: Stage
  readonly #plan: EditorsPlan
  readonly #random: Random
  readonly #origin: Origin
  readonly #disk: OriginDisk
  readonly #record: EditorRecord = {
    acknowledged: new Set(),
    journaled: new Set(),
    givenUp: new Set(),
    count: 0,
  }
  #editors: Editor[] = []
  #opened = 0
  /** The number of changes of the disk after which the tab that makes the next one crashes. */
  #crashAfter = Infinity
  /** Something could not be written into the journal. */
  #wasFull = false

  constructor(stage: Stage) {
    const { world, plan } = stage
    this.#stage = stage
    this.#plan = plan.autosave as EditorsPlan
    this.#random = world.stream('editors')
    this.#origin = stage.origins.of(BROWSER)
    this.#disk = new OriginDisk(world, world.stream('disk'), {
      exclusive: this.#plan.hasExclusiveWriters,
      onOperation: (what, path) => this.#onOperation(what, path),
    })
  }

  start(): void {
    for (let n = 0; n < this.#plan.tabs; n++) this.#open()
    const { world, plan } = this.#stage
    const next = () =>
      world.after(plan.paceMs * this.#random.between(0.1, 1.5), () => {
        if (!this.#stage.isStormy) return
        this.#act()
        next()
      })
    next()
  }

  meet({ kind, ms, whom }: Trouble): boolean {
    const stage = this.#stage
    const editor = this.#editors[Math.floor(whom * this.#editors.length)]
    if (kind === 'an editor is opened') {
      if (this.#editors.length > 2) return false
      this.#open()
      return true
    }
    if (kind === 'the disk of the editors is full') {
      stage.tellTrouble('disk', 'is full', ms)
      this.#fill(true)
      stage.later(ms, () => this.#fill(false))
      return true
    }
    if (!editor?.isRunning) return false
    switch (kind as AutoSaveTrouble) {
      case 'an editor crashes':
        editor.crash()
        this.#forget(editor)
        return true
      case 'an editor crashes during its next save':
        this.#crashAfter = Math.floor(((whom * 1000) % 1) * 25)
        return true
      case 'an editor is closed':
        this.#forget(editor)
        if (whom < 0.5) editor.leave()
        else void editor.close()
        return true
      case 'an editor stands still':
      case 'the machine of the editors sleeps': {
        const isAsleep = kind === 'the machine of the editors sleeps'
        for (const each of isAsleep ? this.#editors : [editor]) {
          stage.tellTrouble(each.name, isAsleep ? 'sleeps' : 'stands still', ms)
          each.process.stop(isAsleep)
          stage.later(ms, () => each.process.resume())
        }
        return true
      }
      case 'an editor is hidden':
        stage.tellTrouble(editor.name, 'is hidden', ms)
        editor.hide(true)
        stage.later(ms, () => editor.hide(false))
        return true
      case 'the clock of the editors jumps': {
        const jump = HOUR_MS * stage.world.stream(`jump ${stage.world.now}`).between(-0.1, 1)
        stage.tellTrouble('clock', `jumps by ${(jump / 1000).toFixed(0)} s`, 0)
        // They are on one machine.
        for (const { process } of this.#editors) process.jump(jump)
        return true
      }
      default:
        return false
    }
  }

  calm(): void {
    this.#fill(false)
    this.#crashAfter = Infinity
    for (const editor of this.#editors) {
      editor.process.resume()
      editor.hide(false)
    }
  }

  async settle(): Promise<void> {
    const { story } = this.#stage
    const unsettled = () => this.#editors.filter((editor) => !this.#settle(editor))
    if (!(await this.#stage.until(() => unsettled().length === 0, PATIENCE_MS, LOOK_MS)))
      for (const { name, autosave, pending } of unsettled()) {
        const { phase, readOnly, unsaved, stale, error } = autosave.state
        const state = JSON.stringify({ phase, readOnly, unsaved, stale, pending, error: error?.message })
        story.violate(`${name} is not settled ${PATIENCE_MS} ms after the trouble: ${state}`)
      }
    await this.#closeAll()
    await this.#compare()
  }

  async close(): Promise<void> {
    await this.#closeAll()
  }

  judge(): void {}

  #act(): void {
    const random = this.#random
    const editor = this.#editors.length > 0 ? random.pick(this.#editors) : this.#open()
    const { isRunning, isLoaded, autosave, pending } = editor
    if (!isRunning || !isLoaded || pending > 0) return
    const { readOnly, stale } = autosave.state
    if (stale || readOnly === 'conflict') {
      if (random.chance(0.3)) return
      if (random.chance(0.5)) editor.load()
      else editor.overwrite()
    } else if (readOnly === null) {
      if (random.chance(0.85)) editor.write()
      else editor.flush()
    } else if (random.chance(0.15)) editor.takeover()
  }

  /** In calm weather: what this tab keeps is saved or decided. */
  #settle(editor: Editor): boolean {
    const { isLoaded, autosave, pending, isUnsaved } = editor
    if (!isLoaded || pending > 0) return false
    const { readOnly, stale, phase } = autosave.state
    if (stale || readOnly === 'conflict') editor.load()
    else if (!isUnsaved) return true
    else if (readOnly !== null) editor.takeover()
    else if (phase === 'idle' || phase === 'debouncing' || phase === 'error') editor.flush()
    return false
  }

  async #closeAll(): Promise<void> {
    let open = this.#editors.length
    for (const editor of this.#editors) void editor.close().then(() => open--)
    if (!(await this.#stage.until(() => open === 0, CLOSED_WITHIN_MS, LOOK_MS)))
      this.#stage.story.violate('close() of an editor did not end')
    this.#editors = []
  }

  /** A new tab finds what was saved, unless somebody has decided against it. */
  async #compare(): Promise<void> {
    const { story, world } = this.#stage
    const { acknowledged, journaled, givenUp } = this.#record
    const last = this.#open()
    const found: { source: string; words: readonly string[] }[] = []
    let isRead = false
    const read = async () => {
      for (const each of await last.autosave.restore())
        found.push({ source: each.source, words: (await each.read()).words })
    }
    read().then(
      () => {
        isRead = true
      },
      (error) => story.violate(`nothing can be restored: ${error}`),
    )
    if (!(await this.#stage.until(() => isRead && last.pending === 0, CLOSED_WITHIN_MS, LOOK_MS)))
      story.violate('restore() did not end')
    await world.runUntil(world.now + LOOK_MS)
    const best = new Set(found[0]?.words)
    const all = new Set(found.flatMap(({ words }) => words))
    // Without exclusive writers, a save that was replaced by mistake stays in the history.
    const isStrict = this.#plan.hasExclusiveWriters || this.#plan.hasWebLocks
    const lost = [...acknowledged].filter((word) => !(isStrict ? best : all).has(word) && !givenUp.has(word))
    if (lost.length > 0) story.violate(`saved and lost: ${lost.join(', ')}`)
    const forgotten = [...journaled].filter((word) => !all.has(word) && !givenUp.has(word))
    if (forgotten.length > 0 && !this.#wasFull)
      story.violate(`in a journal and lost: ${forgotten.join(', ')}`)
    this.#expectReadable('at the end')
  }

  /** Another program can read the current save: it is complete at every moment. */
  #expectReadable(when: string): void {
    const pointer = this.#disk.text('project/autosave/current.json')
    if (!pointer) return
    try {
      const { file } = JSON.parse(pointer)
      const { data } = JSON.parse(this.#disk.text(`project/autosave/${file}`) ?? '') as { data: Project }
      if (!Array.isArray(data.words)) throw new TypeError('no words')
    } catch (error) {
      this.#stage.story.violate(`the current save cannot be read ${when}: ${error}`)
    }
  }

  #onOperation(what: string, path: string): void {
    this.#stage.story.reach(`disk: ${what}`)
    // Before it is carried out.
    if (path.startsWith('project/autosave/') && (what === 'close' || what === 'remove'))
      this.#stage.world.after(0, () => this.#expectReadable(`after ${what} ${path}`))
    if (!this.#stage.isStormy || !['begin to write', 'write', 'close', 'remove'].includes(what)) return
    if (this.#crashAfter-- > 0) return
    this.#crashAfter = Infinity
    const writer = this.#editors.find(({ autosave }) =>
      ['writing', 'committing', 'gc'].includes(autosave.state.phase),
    )
    if (!writer) return
    this.#stage.story.reach(`crash: during ${what} ${path.replace(/[\d-].*/, '…').replace('project/', '')}`)
    writer.crash()
    this.#forget(writer)
  }

  #open(): Editor {
    const name = `editor ${++this.#opened}`
    const editor = new Editor(name, this.#stage, this.#origin, this.#disk, this.#record)
    this.#editors.push(editor)
    return editor
  }

  #forget(editor: Editor): void {
    this.#editors = this.#editors.filter((other) => other !== editor)
  }

  #fill(isFull: boolean): void {
    this.#wasFull ||= isFull
    this.#disk.isFull = isFull
    this.#origin.storage.fill(isFull)
  }
}
