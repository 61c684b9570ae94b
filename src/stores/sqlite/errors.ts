import { LeaseError } from '../../core/index.ts'

/** Primary result codes of SQLite; the extended ones carry them in their low byte. */
const NOMEM = 7
const READONLY = 8
const INTERRUPT = 9
const IOERR = 10
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const PROTOCOL = 15
const NOTADB = 26
const BUSY_CODES = [5, 6]
const PASSING_CODES = [...BUSY_CODES, NOMEM, INTERRUPT, IOERR, FULL, PROTOCOL]

const ADVICE: Readonly<Record<number, string>> = {
  [READONLY]: 'give this process the right to write the file and its directory',
  [CORRUPT]:
    'stop all that use the file, then restore it, or save what can be read with `sqlite3 … .recover`',
  [CANTOPEN]: 'check that its directory exists and that this process may write there',
  [NOTADB]: 'name another file, or restore this one',
}

/** Another connection is at work; the same statement will succeed when that one is done. */
export function isBusy(error: unknown): boolean {
  return (
    BUSY_CODES.includes(primaryCode(error)) ||
    // On a connection that was given to us the application may be within a transaction of its own.
    (error instanceof Error && error.message.includes('within a transaction'))
  )
}

/** `database`: how messages name it. */
export function toLeaseError(error: unknown, database: string): LeaseError {
  if (error instanceof LeaseError) return error
  const code = primaryCode(error)
  const kind = PASSING_CODES.includes(code) ? 'store-unavailable' : 'store-failed'
  const { code: nodeCode, message = String(error) } = Object(error) as { code?: string; message?: string }
  const advice = nodeCode === 'ERR_INVALID_STATE' ? 'the application has closed it' : ADVICE[code]
  return new LeaseError(kind, [`${database}: ${message}`, advice].filter(Boolean).join('; '), {
    cause: error,
  })
}

export function closedError(): LeaseError {
  return new LeaseError('closed', 'this SQLite store was closed')
}

function primaryCode(error: unknown): number {
  const { errcode } = Object(error) as { errcode?: number }
  return (errcode ?? 0) & 0xff
}
