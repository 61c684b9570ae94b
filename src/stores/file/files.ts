import { link, mkdir, readdir, readFile, rename, rm, rmdir, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { LeaseError } from '../../core/index.ts'
import { turnstile } from './turnstile.ts'

/**
 * What the store asks of a file system. Outcomes that the protocol expects are answers; everything else rejects
 * with a `LeaseError`. Every call that changes a name must be atomic, as POSIX has it.
 */
export interface Files {
  /** The names in a directory; `null` when there is none. */
  list(directory: string): Promise<readonly string[] | null>
  /** `null`: no such file. */
  read(path: string): Promise<string | null>
  /** Makes a new file. False: its directory is missing. */
  write(path: string, text: string): Promise<boolean>
  /** Gives a file a second name. False: that name is taken, or one of the two places is missing. */
  link(from: string, to: string): Promise<boolean>
  /** Moves a directory. False: something is at `to` already, or one of the two places is missing. */
  move(from: string, to: string): Promise<boolean>
  /** True: there is no such file any more. */
  remove(path: string): Promise<boolean>
  /** With all that are missing above it. */
  makeDirectory(path: string): Promise<void>
  /** Only when it is empty. */
  removeDirectory(path: string): Promise<void>
  removeTree(path: string): Promise<void>
  /** When it was last changed, milliseconds; `null`: it is not there. */
  changedAt(path: string): Promise<number | null>
}

/** A thousand leases that are renewed together must not use up the files that the process may open. */
const opening = turnstile(32)

export const nodeFiles: Files = {
  list: (directory) => expecting(readdir(directory), { ENOENT: null, ENOTDIR: null }),
  // What is no file is as unreadable as a file of rubbish.
  read: (path) =>
    opening(() => expecting(readFile(path, 'utf8'), { ENOENT: null, ENOTDIR: null, EISDIR: '' })),
  write: (path, text) =>
    opening(() => expecting(done(writeFile(path, text, { flag: 'wx' })), { ENOENT: false })),
  link: (from, to) => expecting(done(link(from, to)), { ENOENT: false, EEXIST: false }),
  move: (from, to) =>
    expecting(done(rename(from, to)), { ENOENT: false, EEXIST: false, ENOTEMPTY: false, ENOTDIR: false }),
  remove: (path) => expecting(done(unlink(path)), { ENOENT: true }).catch(() => false),
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

/** Not by the option `recursive`, which reports a read-only file system as a missing directory. */
async function makeDirectory(path: string): Promise<void> {
  const isThere = await expecting(done(mkdir(path)), { EEXIST: true, ENOENT: false })
  if (isThere) return
  await makeDirectory(dirname(path))
  await makeDirectory(path)
}

/** Conditions that may pass by themselves or be mended while a caller tries again. */
const PASSING = new Set([
  'EAGAIN',
  'EBUSY',
  'EDQUOT',
  'EINTR',
  'EIO',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'ENOSPC',
  'ESTALE',
  'ETIMEDOUT',
])

const EXPLANATIONS: Readonly<Record<string, string>> = {
  EACCES: 'this process may not read and write the lease directory',
  EDQUOT: 'the disk quota of the lease directory is used up',
  EMFILE: 'this process has too many files open',
  ENOSPC: 'the disk of the lease directory is full',
  ENOTDIR: 'a file is where the lease directory should be',
  EEXIST: 'a file is where the lease directory should be',
  ENOTSUP: 'the file system of the lease directory has no hard links',
  EPERM: 'the file system of the lease directory has no hard links, or forbids them to this process',
  EROFS: 'the lease directory is on a read-only file system',
}

export function fileError(error: unknown): LeaseError {
  if (error instanceof LeaseError) return error
  const code = codeOf(error)
  const message = error instanceof Error ? error.message : String(error)
  return new LeaseError(
    PASSING.has(code) ? 'store-unavailable' : 'store-failed',
    `${EXPLANATIONS[code] ?? 'a file operation failed'} (${message})`,
    { cause: error },
  )
}

async function expecting<T, E>(work: Promise<T>, outcomes: Readonly<Record<string, E>>): Promise<T | E> {
  try {
    return await work
  } catch (error) {
    const code = codeOf(error)
    if (Object.hasOwn(outcomes, code)) return outcomes[code] as E
    throw fileError(error)
  }
}

async function done(work: Promise<void>): Promise<boolean> {
  await work
  return true
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException | null)?.code ?? '')
}
