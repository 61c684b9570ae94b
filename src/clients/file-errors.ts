import type { LeaseError } from '../base/errors.ts'
import { codeOf, storeError } from './store-error.ts'

const FILE_IN_THE_WAY = 'a file is where a directory should be'
const NO_HARD_LINKS = 'this file system has no hard links'

/** Codes after which the same call may succeed, with what the user can do about them. */
const RETRYABLE: Readonly<Record<string, string | undefined>> = {
  EAGAIN: undefined,
  EBUSY: 'another program uses it',
  EDQUOT: 'the disk quota is used up',
  EINTR: undefined,
  EIO: 'the disk or its connection may be failing',
  EMFILE: 'this process has too many files open',
  ENFILE: 'this machine has too many files open',
  ENOENT: 'it cannot be created there, or was deleted while it was used',
  ENOMEM: 'this machine has too little memory',
  ENOSPC: 'the disk is full',
  ESTALE: 'it was replaced while it was used',
  ETIMEDOUT: undefined,
}

const FINAL: Readonly<Record<string, string>> = {
  EACCES: 'give this process the right to read and write there',
  EEXIST: FILE_IN_THE_WAY,
  ENOSYS: NO_HARD_LINKS,
  ENOTDIR: FILE_IN_THE_WAY,
  ENOTSUP: NO_HARD_LINKS,
  EOPNOTSUPP: NO_HARD_LINKS,
  EPERM: `${NO_HARD_LINKS}, or this process may not create them`,
  EROFS: 'the file system is read-only',
  EXDEV: 'all of it must be on one file system',
}

/** `place`: how messages name the directory or file. */
export function fileError(error: unknown, place = 'the file system', resource?: string): LeaseError {
  const code = codeOf(error)
  const retryable = Object.hasOwn(RETRYABLE, code)
  return storeError(place, error, { retryable, advice: retryable ? RETRYABLE[code] : FINAL[code] }, resource)
}
