import type { LeaseError } from '../base/errors.ts'
import { storeError, type Verdict } from './store-error.ts'

/** Names of `DOMException`s, with what they mean to Web Locks, IndexedDB and directories. */
const VERDICTS: Readonly<Record<string, Verdict>> = {
  AbortError: { retryable: true },
  InvalidStateError: {
    retryable: true,
    advice: 'the page is not active, or the data of the site was deleted',
  },
  NoModificationAllowedError: { retryable: true, advice: 'another tab writes the file' },
  NotFoundError: { retryable: true, advice: 'the file or its directory was deleted' },
  NotReadableError: { retryable: true, advice: 'another program uses the file' },
  QuotaExceededError: { retryable: true, advice: 'the storage of this site is full' },
  TimeoutError: { retryable: true },
  TransactionInactiveError: { retryable: true },
  UnknownError: { retryable: true },
  NotAllowedError: { retryable: false, advice: 'the user has not allowed this page to write there' },
  NotSupportedError: { retryable: false, advice: 'this browser or this page does not support it' },
  SecurityError: {
    retryable: false,
    advice: 'the browser refuses it to this page, such as in a sandboxed frame',
  },
  TypeMismatchError: { retryable: false, advice: 'a directory is where the file should be' },
  VersionError: { retryable: false, advice: 'a newer version of Holdfast wrote the data: reload the page' },
}

export function browserError(error: unknown, resource?: string): LeaseError {
  const name = nameOf(error) ?? ''
  const verdict = Object.hasOwn(VERDICTS, name) ? VERDICTS[name] : undefined
  return storeError('the browser', error, verdict ?? { retryable: false }, resource)
}

/** The name by which browsers tell their errors apart. */
export function nameOf(error: unknown): string | undefined {
  const { name } = Object(error) as { readonly name?: unknown }
  return typeof name === 'string' ? name : undefined
}
