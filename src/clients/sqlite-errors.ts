import { type LeaseError, messageOf } from '../base/errors.ts'
import { codeOf, storeError, type Verdict } from './store-error.ts'

/** Primary result codes of SQLite. The extended ones contain them in their low byte. */
const CODE = {
  busy: 5,
  locked: 6,
  outOfMemory: 7,
  readOnly: 8,
  interrupted: 9,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  protocol: 15,
  notADatabase: 26,
}
const RETRYABLE = [
  CODE.busy,
  CODE.locked,
  CODE.outOfMemory,
  CODE.interrupted,
  CODE.ioError,
  CODE.full,
  CODE.protocol,
]

const ADVICE: Readonly<Record<number, string>> = {
  [CODE.readOnly]: 'give this process the right to write the file and its directory',
  [CODE.corrupt]:
    'stop all programs that use the file, then restore it, or save what can be read with `sqlite3 … .recover`',
  [CODE.cannotOpen]: 'check that its directory exists and that this process may write there',
  [CODE.notADatabase]: 'name another file, or restore this one',
  [CODE.full]: 'free some disk space',
}

/** `database`: how messages name it. */
export function sqliteError(error: unknown, database = 'SQLite', resource?: string): LeaseError {
  return storeError(database, error, verdictOn(error), resource)
}

/** Another connection writes, or the application has a transaction open on ours. The statement will work later. */
export function isBusy(error: unknown): boolean {
  return [CODE.busy, CODE.locked].includes(primaryCode(error)) || isInTransaction(error)
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
