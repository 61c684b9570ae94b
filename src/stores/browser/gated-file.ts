/**
 * One small file that several tabs change, each by reading, deciding and writing with nobody in between.
 *
 * The gate is an exclusive writer on the file itself: while one is open, no other can be opened, and the browser
 * closes it when its tab dies. What was written is seen at once and whole when the writer closes. A browser that
 * does not know the mode ignores it silently, so the first change tries a second writer. Where that one opens too
 * there is no gate: then each change is written, left to settle and read back, and whoever finds something else
 * decides again. That rests on timing; it makes a double grant unlikely, not impossible.
 */
import { type Clock, LeaseError } from '../../core/index.ts'
import { type DirectorySource, nameOf, openDirectory, type WebFile } from './platform.ts'

const GATE_PAUSE_MS = 10
/** Less than the longest that a manager waits for an answer. */
const GATE_LIMIT_MS = 4000
const SETTLE_MS = 50
/** After a change that ends in a removal, nobody else changes the file for this long. */
export const REMOVAL_MS = 1000

export interface Content {
  readonly text: string
  readonly lastModified: number
}

/** The result of a change by which nothing was decided yet: ask again soon. */
export const AGAIN = Symbol('again')

export interface Change<T> {
  readonly result: T | typeof AGAIN
  /** What the file is to hold; absent: it stays as it is. */
  readonly text?: string | undefined
  /**
   * Removes the file after `text` was written. The gate cannot be held while it is removed, so `text` must make
   * everybody else keep from changing the file for `REMOVAL_MS`.
   */
  readonly remove?: boolean
}

export type Decide<T> = (content: Content | null) => Change<T>

export interface GatedFile {
  /** The content at some moment, without the gate; `null` where there is no file. */
  read(): Promise<Content | null>
  /** Without `create`, a file that does not exist is not made, and what `decide` wants written is not. */
  change<T>(decide: Decide<T>, create: boolean): Promise<T>
}

export function gatedFile(source: DirectorySource, name: string, clock: Clock): GatedFile {
  /** Whether the browser has exclusive writers; not known before the first was opened. */
  let hasGate: boolean | undefined
  /** The file is empty because we made it; one that another left empty is damaged. */
  let isMadeEmpty = false
  /** Changes of this tab go one by one: in the order of the calls, and without contending at the gate. */
  let turn: Promise<unknown> = Promise.resolve()

  return {
    read: () => patiently(readOnce),
    change(decide, create) {
      const change = turn.then(() => patiently(() => changeOnce(decide, create)))
      turn = change.catch(() => {})
      return change
    },
  }

  async function readOnce(): Promise<Content | null> {
    const file = await openFile(false)
    return file && contentOf(file)
  }

  async function changeOnce<T>(decide: Decide<T>, create: boolean): Promise<T | typeof AGAIN> {
    const file = await openFile(create)
    if (!file) return decide(null).result
    const writer = await file.createWritable(EXCLUSIVE)
    let change: Change<T>
    try {
      hasGate ??= await isRefusedAnother(file)
      const content = await contentOf(file)
      isMadeEmpty &&= content.text === ''
      change = decide(isMadeEmpty ? null : content)
      if (change.text === undefined) return change.result
      await writer.write(change.text)
      await writer.close()
    } finally {
      // Does nothing to one that was closed.
      await writer.abort().catch(() => {})
    }
    if (!hasGate && !(await isSettled(change.text))) return AGAIN
    if (change.remove) await patiently(removeOnce, REMOVAL_MS / 2)
    return change.result
  }

  async function openFile(create: boolean): Promise<WebFile | null> {
    const directory = await openDirectory(source)
    try {
      return await directory.getFileHandle(name)
    } catch (error) {
      if (nameOf(error) !== 'NotFoundError') throw error
    }
    if (!create) return null
    isMadeEmpty = true
    return directory.getFileHandle(name, { create })
  }

  async function isSettled(text: string): Promise<boolean> {
    await pause(SETTLE_MS)
    return (await patiently(readOnce))?.text === text
  }

  async function removeOnce(): Promise<void> {
    try {
      await (await openDirectory(source)).removeEntry(name)
    } catch (error) {
      if (nameOf(error) !== 'NotFoundError') throw error
    }
  }

  /** Tries again what fails only because another tab has the file in hand at this moment. */
  async function patiently<T>(attempt: () => Promise<T | typeof AGAIN>, limitMs = GATE_LIMIT_MS): Promise<T> {
    const start = clock.monotonic()
    for (;;) {
      let failure: unknown
      try {
        const outcome = await attempt()
        if (outcome !== AGAIN) return outcome
        failure = new LeaseError('store-unavailable', `${name} is busy`)
      } catch (error) {
        if (!TRANSIENT.includes(nameOf(error) ?? '')) throw error
        failure = error
      }
      if (clock.monotonic() - start > limitMs) throw failure
      await pause(GATE_PAUSE_MS * (0.5 + clock.random()))
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => clock.setTimer(resolve, ms))
  }
}

const EXCLUSIVE = { mode: 'exclusive' } as const
/** Another writer is open. */
const BUSY = 'NoModificationAllowedError'
/** Busy; or the file was replaced or removed between two of our steps. */
const TRANSIENT = [BUSY, 'NotFoundError', 'NotReadableError']

/** Whether a second writer cannot be opened; `undefined` if that could not be found out. */
async function isRefusedAnother(file: WebFile): Promise<boolean | undefined> {
  try {
    const second = await file.createWritable(EXCLUSIVE)
    await second.abort()
    return false
  } catch (error) {
    return nameOf(error) === BUSY || undefined
  }
}

async function contentOf(file: WebFile): Promise<Content> {
  const found = await file.getFile()
  return { text: await found.text(), lastModified: found.lastModified }
}
