/**
 * A lineage is a directory of numbered files, its generations. Each holds a complete state, the highest number is
 * the present one, and no file is ever changed:
 *
 *     read      list, take the highest, read it: generation n
 *     advance   write a temporary file; link it as n + 1, which fails if another was faster; see that n is still
 *               the file that was read
 *     trim      delete the lowest first, and never the newest few
 *
 * Why the last look at n: who slept after reading n may find the name n + 1 free, not because nobody was there but
 * because many were, and n + 1 is trimmed already. Then n was trimmed before it. The content of n is compared, not
 * its name, since a second sleeper may have put a file n there by the same mistake. Whatever a sleeper leaves lies
 * below the highest number, where nobody builds on it, and is trimmed like the rest.
 *
 * A renewal has to be a generation too. If it were renamed over n, somebody who had read the old n would link
 * n + 1 on top of it, and both would hold.
 *
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
  const { directory, number } = from
  try {
    if (!(await files.write(scratch, text))) return false
    if (!(await files.link(scratch, fileOf(directory, number + 1)))) return false
    const [unchanged] = await Promise.all([
      files.read(fileOf(directory, number)).then((now) => now === from.text),
      trim(files, from),
    ])
    return unchanged
  } finally {
    await files.remove(scratch)
  }
}

/** Stops where a file cannot be deleted, lest a higher one went before it. */
export async function trim(files: Files, { directory, number, older }: Generation): Promise<void> {
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
  await files.makeDirectory(directory)
  if ((await files.write(fileOf(directory, 1), text)) && (await files.move(scratch, place))) return true
  await files.removeTree(scratch)
  return false
}
