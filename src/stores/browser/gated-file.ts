/**
 * One small file that several tabs change. A change reads, decides, and writes or removes the file while no other tab
 * can do so.
 *
 * The gate is an exclusive writer on a second, empty file: while it is open, no other can be opened, and the browser
 * closes it with its tab. A page that stalls inside the gate keeps all others out until it goes on. The gate's file
 * exists only as long as somebody uses it. Its removal can come at any time without harm: a browser does not remove a
 * file that has a writer, and the next tab creates it again.
 *
 * A browser without exclusive writers ignores the mode silently, so the first change also tries to open a second
 * writer. If that works, there is no gate. Then each change is written, and read again after a pause. A tab that finds
 * another content decides again, and so does a tab that was slow. That depends on timing: it makes a double grant
 * unlikely, not impossible.
 */
import type { Clock, Moment, moment } from '../../base/clock.ts'
import type { LeaseError, messageOf } from '../../base/errors.ts'
import type { pause } from '../../base/pause.ts'
import type { nameOf } from '../../clients/browser-errors.ts'
import { DECISION_MS, GATE_LIMIT_MS, GATE_PAUSE_MS, RECHECK_MS, REMOVAL_MS } from './options.ts'
import type { DirectorySource, WebDirectory, WebFile } from './platform.ts'

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
   * Removes the file instead. If that fails, `text` is written and the change fails. Without a gate, this text is written first:
   * it must make all others leave the file unchanged for more than five seconds.
   */
  readonly removal?: string
}

export type Decide<T> = (content: Content | null) => Change<T>

export interface GatedFile {
  /** The present content, read without the gate; `null`: there is no file. */
  read(): Promise<Content | null>
  /** Without `create`, a missing file is not created, and nothing is written. */
  change<T>(decide: Decide<T>, create: boolean): Promise<T>
}

/** It imports nothing, because the project lock loads it on demand: see Pages in ARCHITECTURE. */
export interface GatedFileTools {
  readonly LeaseError: typeof LeaseError
  readonly messageOf: typeof messageOf
  readonly moment: typeof moment
  readonly nameOf: typeof nameOf
  readonly pause: typeof pause
}

/** `hasGate`: whether the browser has exclusive writers, or the caller its own gate. Default: found out by a try. */
export function gatedFile(
  { LeaseError, messageOf, moment, nameOf, pause }: GatedFileTools,
  source: DirectorySource,
  name: string,
  clock: Clock,
  hasGate?: boolean,
): GatedFile {
  const gateName = `${name}.gate`
  /** There was no file when this tab last looked. So an empty file is one that could not be written, not a damaged one. */
  let isNew = false
  /** Changes of this tab run one after the other, so that they keep their order and do not compete for the gate. */
  let last: Promise<unknown> = Promise.resolve()
  const open = async () => (typeof source === 'function' ? source() : source)

  return {
    read: () => unlessBusy(async () => readFrom(await open())),
    change(decide, create) {
      const change = last.then(() => unlessBusy(() => changeOnce(decide, create)))
      last = change.catch(() => {})
      return change
    },
  }

  async function changeOnce<T>(decide: Decide<T>, create: boolean): Promise<T | typeof AGAIN> {
    const directory = await open()
    if (!create && !(await fileIn(directory))) return decide(null).result
    const gateFile = await directory.getFileHandle(gateName, { create: true })
    const gate = await gateFile.createWritable(EXCLUSIVE)
    try {
      hasGate ??= await isRefusedAnother(gateFile)
      return await decideAndWrite(directory, decide)
    } finally {
      await gate.abort().catch(() => {})
      // Another tab may have opened the gate in the meantime, or removed its file.
      await directory.removeEntry(gateName).catch(() => {})
    }
  }

  async function decideAndWrite<T>(directory: WebDirectory, decide: Decide<T>): Promise<T | typeof AGAIN> {
    const start = moment(clock)
    const content = await readFrom(directory)
    isNew = !content || (isNew && content.text === '')
    const { result, text, removal } = decide(isNew ? null : content)
    if (text === undefined) return result
    if (removal === undefined || !hasGate) {
      const isWritten = await write(directory, removal ?? text, start)
      if (!isWritten || isLate(start, REMOVAL_MS)) return AGAIN
    }
    if (removal !== undefined)
      await directory.removeEntry(name).catch(async (cause) => {
        if (nameOf(cause) === 'NotFoundError') return
        await write(directory, text, moment(clock)).catch(() => {})
        throw new LeaseError('store-unavailable', messageOf(cause), { cause })
      })
    return result
  }

  /** False: without a gate, another tab may have been faster. */
  async function write(directory: WebDirectory, text: string, start: Moment): Promise<boolean> {
    const file = await directory.getFileHandle(name, { create: true })
    const writer = await file.createWritable()
    try {
      await writer.write(text)
      if (!hasGate && isLate(start, DECISION_MS)) return false
      await writer.close()
      isNew = false
    } finally {
      // Does nothing if the writer is closed.
      await writer.abort().catch(() => {})
    }
    if (hasGate) return true
    await pause(clock, RECHECK_MS)
    return (await readFrom(directory))?.text === text
  }

  /** The machine may have slept in the meantime, which only the wall clock shows. */
  function isLate({ mono, wall }: Moment, limitMs: number): boolean {
    return Math.max(clock.monotonic() - mono, clock.now() - wall) > limitMs
  }

  async function readFrom(directory: WebDirectory): Promise<Content | null> {
    const found = await (await fileIn(directory))?.getFile()
    return found ? { text: await found.text(), lastModified: found.lastModified } : null
  }

  async function fileIn(directory: WebDirectory): Promise<WebFile | null> {
    try {
      return await directory.getFileHandle(name)
    } catch (error) {
      if (nameOf(error) === 'NotFoundError') return null
      throw error
    }
  }

  /** Tries again as long as the attempt fails only because another tab uses the file. */
  async function unlessBusy<T>(attempt: () => Promise<T | typeof AGAIN>): Promise<T> {
    const start = clock.monotonic()
    for (let tries = 1; ; tries++) {
      let cause: unknown
      try {
        const outcome = await attempt()
        if (outcome !== AGAIN) return outcome
      } catch (error) {
        if (!TRANSIENT.includes(nameOf(error))) throw error
        cause = error
      }
      if (clock.monotonic() - start > GATE_LIMIT_MS)
        throw new LeaseError('store-unavailable', `${name} is busy`, { cause })
      await pause(clock, GATE_PAUSE_MS * tries * clock.random())
    }
  }

  /** Whether a second writer cannot be opened; `undefined`: unknown. */
  function isRefusedAnother(file: WebFile): Promise<boolean | undefined> {
    return file.createWritable(EXCLUSIVE).then(
      (second) => second.abort().then(() => false),
      (error) => nameOf(error) === BUSY || undefined,
    )
  }
}

const EXCLUSIVE = { mode: 'exclusive' } as const
/** Another writer is open. */
const BUSY = 'NoModificationAllowedError'
/** Busy, or the file was replaced or removed between two steps. */
const TRANSIENT: readonly unknown[] = [BUSY, 'NotFoundError', 'NotReadableError']
