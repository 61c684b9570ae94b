import { type LeaseError, messageOf } from '../base/errors.ts'
import { codeOf, storeError, type Verdict } from './store-error.ts'

/** Primary result codes of SQLite. The extended ones contain them in their low byte. */
const BUSY = 5
const LOCKED = 6
const NOMEM = 7
const READONLY = 8
const INTERRUPT = 9
const IOERR = 10
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const PROTOCOL = 15
const NOTADB = 26
const RETRYABLE = [BUSY, LOCKED, NOMEM, INTERRUPT, IOERR, FULL, PROTOCOL]

const ADVICE: Readonly<Record<number, string>> = {
  [READONLY]: 'give this process the right to write the file and its directory',
  [CORRUPT]:
    'stop all programs that use the file, then restore it, or save what can be read with `sqlite3 … .recover`',
  [CANTOPEN]: 'check that its directory exists and that this process may write there',
  [NOTADB]: 'name another file, or restore this one',
  [FULL]: 'free some disk space',
}

/** `database`: how messages name it. */
export function sqliteError(error: unknown, database = 'SQLite', resource?: string): LeaseError {
  return storeError(database, error, verdictOn(error), resource)
}

/** Another connection writes, or the application has a transaction open on ours. The statement will work later. */
export function isBusy(error: unknown): boolean {
  return [BUSY, LOCKED].includes(primaryCode(error)) || isInTransaction(error)
}

function verdictOn(error: unknown): Verdict {
  if (isInTransaction(error))
    return { retryable: true, advice: 'the application has a transaction open on this connection' }
  if (codeOf(error) === 'ERR_INVALID_STATE')
    return { retryable: false, advice: 'the application has closed this connection' }
  const code = primaryCode(error)
  return { retryable: RETRYABLE.includes(code), advice: ADVICE[code] }
}

function isInTransaction(error: unknown): boolean {
  return messageOf(error).includes('within a transaction')
}

function primaryCode(error: unknown): number {
  const { errcode } = Object(error) as { readonly errcode?: number }
  return (errcode ?? 0) & 0xff
}
