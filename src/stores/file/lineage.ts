/**
 * A lineage is a directory of numbered files, its generations. Each holds a complete state, the highest number is
 * the present one, and no file is ever changed:
 *
 *     read      list, take the highest, read it: generation n
 *     advance   write a temporary file; link it as n + 1, which fails if another was faster; see that this is
 *               the highest, or else that n is still the file that was read
 *     trim      delete the lowest first, and never the newest few
 *
 * Why the last look: who slept after reading n may find the name n + 1 free, not because nobody was there but
 * because many were, and n + 1 is trimmed already. Then there is a higher number, and n was trimmed before n + 1.
 * The content of n is compared, not its name, since a second sleeper may have put a file n there by the same
 * mistake. Whatever a sleeper leaves lies below the highest number, where nobody builds on it, and is trimmed like
 * the rest.
 *
 * A renewal has to be a generation too. If it were renamed over n, somebody who had read the old n would link
 * n + 1 on top of it, and both would hold.
 *
 * That a listing shows the highest number is what a local file system gives: it lists a few names in one step.
 * A lineage is never empty: it is made elsewhere, with its first generation, and moved into place as a whole.
 */
import { join } from 'node:path'
import { LeaseError } from '../../core/index.ts'
import type { Files } from './files.ts'

/** More than two, so that a watcher in another process finds what changed since it last looked. */
const KEEP = 4
/** Each further try means that others have changed the lineage in the meantime. */
export const MAX_TRIES = 100

export interface Generation {
  readonly directory: string
  readonly number: number
  /** Unlike the text of any other generation. */
  readonly text: string
  /** The numbers below, ascending. */
  readonly older: readonly number[]
}

/** The present state; `null` when there is no lineage in this directory. */
export async function newest(files: Files, directory: string): Promise<Generation | null> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const numbers = await numbersIn(files, directory)
    const number = numbers.at(-1)
    if (number === undefined) return null
    const text = await files.read(fileOf(directory, number))
    if (text !== null) return { directory, number, text, older: numbers.slice(0, -1) }
  }
  throw new LeaseError('store-unavailable', `${directory} changed too often to be read`)
}

/** Ascending; empty when there is no lineage in this directory. */
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

/** False: another was faster, or may have been; read again. */
export async function advance(
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
  const [succeeded] = await Promise.all([hasSucceeded(files, from), trim(files, from), files.remove(scratch)])
  return succeeded
}

async function hasSucceeded(files: Files, { directory, number, text }: Generation): Promise<boolean> {
  const highest = (await numbersIn(files, directory)).at(-1)
  // Others may have gone on from ours already.
  return highest === number + 1 || (await files.read(fileOf(directory, number))) === text
}

/** Stops where a file cannot be deleted, lest a higher one went before it. */
async function trim(files: Files, { directory, number, older }: Generation): Promise<void> {
  for (const old of older) {
    if (old > number + 1 - KEEP || !(await files.remove(fileOf(directory, old)))) return
  }
}

/** Moves a new lineage into place, at `place` or in a directory below it. False: there is one already. */
export async function found(
  files: Files,
  { scratch, below = '', text, place }: { scratch: string; below?: string; text: string; place: string },
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
