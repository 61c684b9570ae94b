import { link, mkdir, readdir, readFile, rename, rm, rmdir, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from '../../clients/store-error.ts'
import { limitConcurrency } from '../local/limit-concurrency.ts'
import { FILES_AT_ONCE, MAX_DIRECTORY_TRIES, MAX_OPEN_FILES } from './options.ts'

/**
 * What the store needs of a file system. Outcomes that the protocol expects are return values; all other errors
 * reject. Every call that changes a name must be atomic, as in POSIX.
 */
export interface Files {
  /** The names in a directory; `null`: there is no such directory. */
  list(directory: string): Promise<readonly string[] | null>
  /** `null`: there is no such file. */
  read(path: string): Promise<string | null>
  /** Creates a file. False: its directory is missing. */
  write(path: string, text: string): Promise<boolean>
  /** Gives a file a second name. False: the name is taken, or the file or the directory is missing. */
  link(from: string, to: string): Promise<boolean>
  /** Moves a directory. False: the name is taken, or one of the directories is missing. */
  move(from: string, to: string): Promise<boolean>
  /** True: the file does not exist any more. */
  remove(path: string): Promise<boolean>
  /** Also creates the missing directories above it. */
  makeDirectory(path: string): Promise<void>
  /** Only if it is empty. */
  removeDirectory(path: string): Promise<void>
  removeTree(path: string): Promise<void>
  /** When it was last changed, milliseconds; `null`: it does not exist. */
  changedAt(path: string): Promise<number | null>
}

const whenFewAreOpen = limitConcurrency(MAX_OPEN_FILES)

export const nodeFiles: Files = {
  list: (directory) => expecting(readdir(directory), { ENOENT: null, ENOTDIR: null }),
  // A directory in place of a file counts as a damaged file.
  read: (path) =>
    whenFewAreOpen(() => expecting(readFile(path, 'utf8'), { ENOENT: null, ENOTDIR: null, EISDIR: '' })),
  write: (path, text) =>
    whenFewAreOpen(() => expecting(succeeds(writeFile(path, text, { flag: 'wx' })), { ENOENT: false })),
  link: (from, to) => expecting(succeeds(link(from, to)), { ENOENT: false, EEXIST: false }),
  move: (from, to) =>
    expecting(succeeds(rename(from, to)), { ENOENT: false, EEXIST: false, ENOTEMPTY: false, ENOTDIR: false }),
  remove: (path) => expecting(succeeds(unlink(path)), { ENOENT: true }).catch(() => false),
  makeDirectory,
  removeDirectory: (path) =>
    expecting(rmdir(path), {
      ENOENT: undefined,
      EEXIST: undefined,
      ENOTEMPTY: undefined,
      ENOTDIR: undefined,
    }),
  removeTree: (path) => expecting(rm(path, { recursive: true, force: true }), { ENOTEMPTY: undefined }),
  changedAt: async (path) => (await expecting(stat(path), { ENOENT: null }))?.mtimeMs ?? null,
}

/** Works on the items a batch at a time, and yields the results in the order of the items. */
export async function* inBatches<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  for (let start = 0; start < items.length; start += FILES_AT_ONCE)
    yield* await Promise.all(items.slice(start, start + FILES_AT_ONCE).map(work))
}

/** Not with the option `recursive`, which reports a read-only file system as a missing directory. */
async function makeDirectory(path: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    const missing = tries < MAX_DIRECTORY_TRIES ? { ENOENT: false } : {}
    if (await expecting(succeeds(mkdir(path)), { EEXIST: true, ...missing })) return
    await makeDirectory(dirname(path))
  }
}

/** `outcomes`: the result for error codes that are expected. */
async function expecting<T, E>(work: Promise<T>, outcomes: Readonly<Record<string, E>>): Promise<T | E> {
  try {
    return await work
  } catch (error) {
    const code = codeOf(error)
    if (Object.hasOwn(outcomes, code)) return outcomes[code] as E
    throw error
  }
}

async function succeeds(work: Promise<void>): Promise<true> {
  await work
  return true
}
