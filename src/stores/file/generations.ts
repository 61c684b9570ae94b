/**
 * A history is a directory of numbered files, its generations. Each contains a complete state, the highest number is
 * the present state, and no file is ever changed:
 *
 *     read   list, take the highest number, read it: generation n
 *     add    write a temporary file; link it as n + 1, which fails if another process was faster; then check that
 *            n + 1 is the highest number, or else that n is still the file that was read
 *     trim   delete the lowest numbers first, and never the newest few
 *
 * Why the check: a process that was paused after it read n may find the name n + 1 free although others have changed
 * the state many times, because n + 1 is trimmed already. Then there is a higher number, and n was trimmed before
 * n + 1. The content of n is compared, not only its name, because a second paused process may have linked another
 * file as n by the same mistake. A file of a paused process has a number below the highest one, so nobody continues
 * from it, and it is trimmed like the others.
 *
 * A renewal must be a generation too. If it were renamed over n, a process that had read the old n could link n + 1
 * after it, and both would hold the lease.
 *
 * The protocol relies on a listing that shows the highest number. Local file systems guarantee that: they list a few
 * names in one step. A history is never empty: it is created elsewhere with its first generation, and moved into
 * place as a whole.
 */
import { join } from 'node:path'
import { LeaseError } from '../../base/errors.ts'
import type { Files } from './files.ts'
import { KEPT_GENERATIONS, MAX_TRIES } from './options.ts'

export interface Generation {
  readonly directory: string
  readonly number: number
  /** Differs from the text of every other generation. */
  readonly text: string
  /** The numbers below, ascending. */
  readonly older: readonly number[]
}

/** The present state; `null`: there is no history in this directory. */
export async function newestGeneration(files: Files, directory: string): Promise<Generation | null> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const numbers = await numbersIn(files, directory)
    const number = numbers.at(-1)
    if (number === undefined) return null
    const text = await files.read(fileOf(directory, number))
    if (text !== null) return { directory, number, text, older: numbers.slice(0, -1) }
  }
  throw new LeaseError('store-unavailable', `${directory} changed too often to be read`)
}

/** Ascending; empty if there is no history in this directory. */
export async function numbersIn(files: Files, directory: string): Promise<number[]> {
  const names = (await files.list(directory)) ?? []
  return names
    .filter((name) => /^[1-9]\d{0,14}$/.test(name))
    .map(Number)
    .sort((a, b) => a - b)
}

export function fileOf(directory: string, number: number): string {
  return join(directory, String(number))
}

/** False: another process was faster, or may have been. Read again. */
export async function addGeneration(
  files: Files,
  from: Generation,
  text: string,
  scratch: string,
): Promise<boolean> {
  let linked = false
  try {
    linked =
      (await files.write(scratch, text)) &&
      (await files.link(scratch, fileOf(from.directory, from.number + 1)))
  } finally {
    if (!linked) await files.remove(scratch)
  }
  if (!linked) return false
  const [isAdded] = await Promise.all([wasAdded(files, from), trim(files, from), files.remove(scratch)])
  return isAdded
}

async function wasAdded(files: Files, { directory, number, text }: Generation): Promise<boolean> {
  const highest = (await numbersIn(files, directory)).at(-1)
  // If another process has continued from ours already, n is still there.
  return highest === number + 1 || (await files.read(fileOf(directory, number))) === text
}

/** Stops at a file that cannot be deleted, so that no higher number is deleted before it. */
async function trim(files: Files, { directory, number, older }: Generation): Promise<void> {
  for (const old of older) {
    if (old > number + 1 - KEPT_GENERATIONS || !(await files.remove(fileOf(directory, old)))) return
  }
}

/** Creates a history at `place`, or in the directory `below` it. False: there is one already. */
export async function createHistory(
  files: Files,
  {
    scratch,
    below = '',
    text,
    place,
  }: { scratch: string; below?: string | undefined; text: string; place: string },
): Promise<boolean> {
  const directory = join(scratch, below)
  let moved = false
  try {
    await files.makeDirectory(directory)
    moved = (await files.write(fileOf(directory, 1), text)) && (await files.move(scratch, place))
  } finally {
    if (!moved) await files.removeTree(scratch)
  }
  return moved
}
