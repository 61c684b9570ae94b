/**
 * One small file that several tabs change. A change reads, decides and writes while no other tab can write.
 *
 * The gate is an exclusive writer on the file itself: while one is open, no other can be opened, and the browser
 * closes it with its tab. When the writer is closed, all that it wrote becomes visible at once. A browser that does
 * not support this mode ignores it silently, so the first change also tries to open a second writer. If that works,
 * there is no gate. Then each change is written, and read again after a pause. A tab that finds another content
 * decides again. That depends on timing: it makes a double grant unlikely, not impossible.
 */
import type { Clock } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import { pause } from '../../base/pause.ts'
import { nameOf } from '../../clients/browser-errors.ts'
import { type DirectorySource, openDirectory, type WebFile } from './platform.ts'

const GATE_PAUSE_MS = 10
/** Less than the five seconds that callers wait for an answer. */
const GATE_LIMIT_MS = 4000
const SETTLE_MS = 50
/** After a change that ends in a removal, nobody else changes the file for this long. */
export const REMOVAL_MS = 1000

export interface Content {
  readonly text: string
  readonly lastModified: number
}

/** The result of a change that could not decide yet. It is tried again soon. */
export const AGAIN = Symbol('again')

export interface Change<T> {
  readonly result: T | typeof AGAIN
  /** The new content of the file; absent: it stays as it is. */
  readonly text?: string | undefined
  /**
   * Removes the file after `text` was written. The gate cannot be held during the removal, so `text` must make all
   * others leave the file unchanged for `REMOVAL_MS`.
   */
  readonly remove?: boolean
}

export type Decide<T> = (content: Content | null) => Change<T>

export interface GatedFile {
  /** The present content, read without the gate; `null`: there is no file. */
  read(): Promise<Content | null>
  /** Without `create`, a missing file is not created, and nothing is written. */
  change<T>(decide: Decide<T>, create: boolean): Promise<T>
}

/** `hasGate`: whether the browser has exclusive writers, or the caller its own gate. Default: found out by a try. */
export function gatedFile(source: DirectorySource, name: string, clock: Clock, hasGate?: boolean): GatedFile {
  /** The file is empty because this tab has just created it. Any other empty file is damaged. */
  let isMadeEmpty = false
  /** Changes of this tab run one after the other, so that they keep their order and do not compete for the gate. */
  let turn: Promise<unknown> = Promise.resolve()

  return {
    read: () => unlessBusy(readOnce),
    change(decide, create) {
      const change = turn.then(() => unlessBusy(() => changeOnce(decide, create)))
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
      // Does nothing if the writer is closed.
      await writer.abort().catch(() => {})
    }
    if (!hasGate && !(await isSettled(change.text))) return AGAIN
    if (change.remove) await unlessBusy(removeOnce, REMOVAL_MS / 2)
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
    await pause(clock, SETTLE_MS)
    return (await unlessBusy(readOnce))?.text === text
  }

  async function removeOnce(): Promise<void> {
    try {
      await (await openDirectory(source)).removeEntry(name)
    } catch (error) {
      if (nameOf(error) !== 'NotFoundError') throw error
    }
  }

  /** Tries again as long as the attempt fails only because another tab uses the file. */
  async function unlessBusy<T>(
    attempt: () => Promise<T | typeof AGAIN>,
    limitMs = GATE_LIMIT_MS,
  ): Promise<T> {
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
      await pause(clock, GATE_PAUSE_MS * (0.5 + clock.random()))
    }
  }
}

const EXCLUSIVE = { mode: 'exclusive' } as const
/** Another writer is open. */
const BUSY = 'NoModificationAllowedError'
/** Busy, or the file was replaced or removed between two steps. */
const TRANSIENT = [BUSY, 'NotFoundError', 'NotReadableError']

/** Whether a second writer cannot be opened; `undefined`: unknown. */
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
