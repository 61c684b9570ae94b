import { LeaseError, messageOf } from '../base/errors.ts'
import { serverError } from './server-error.ts'
import { codeOf, isConnectionCode, type Verdict } from './store-error.ts'

/** Numbers of server errors. */
const ERRNO = {
  noSuchTable: 1146,
  noSuchProcedure: 1305,
  noSuchColumn: 1054,
  duplicateColumn: 1060,
  withinTransaction: 1568,
  deadlock: 1213,
  syntax: 1064,
  /** A wrong user or password, or another host than that of the user. */
  loginDenied: [1045, 1698],
  /** A right that this user lacks: on the database, a table, a column, a procedure, or in general. */
  rightMissing: [1044, 1142, 1143, 1227, 1370],
}

/** Shutdown, a broken or killed connection, an interrupted or slow statement. */
const ENDED = [1053, 1079, 1158, 1159, 1160, 1161, 1184, 1317, 1927, 1969, 3024, 4031]

/** After these the same call may succeed. */
const RETRYABLE = new Set([
  // Deadlock, lock timeout, a row that changed, a commit that failed.
  ...[ERRNO.deadlock, 1205, 1020, 1180, 3101, 3572],
  // Too many connections, limits of a user, out of memory.
  ...[1040, 1203, 1226, 1037, 1038, 1041],
  ...ENDED,
  // A full disk, an error of the storage engine.
  ...[1021, 1026, 1030, 1114],
  // A replica, or a node of a cluster that has no majority.
  ...[1047, 1290, 1792, 1836, 3100],
])
/** Codes of `mysql2`. */
const RETRYABLE_DRIVER_CODE = /^(PROTOCOL_CONNECTION_LOST|PROTOCOL_SEQUENCE_TIMEOUT)$/
/** `mysql2` gives these errors no code. */
const BUSY_MESSAGE = /Queue limit reached|No connections available/
const CLOSED_MESSAGE = /in closed state/
const ENDED_MESSAGE = /Pool is closed/

const RIGHT_MISSING =
  'this user lacks a right: grant it SELECT, INSERT, UPDATE and DELETE on the tables and EXECUTE on the procedures, ' +
  'or run holdfast migrate with --grant'

export function mysqlError(error: unknown, resource?: string): LeaseError {
  return serverError('MySQL', error, verdictOn(error), resource)
}

export function brokenMysqlError(cause: unknown): LeaseError {
  return new LeaseError('store-unavailable', 'MySQL: the connection broke', { cause })
}

/** The connection ended before the statement was sent. */
export function isClosed(error: unknown): boolean {
  return CLOSED_MESSAGE.test(messageOf(error))
}

/** A table or a procedure does not exist. */
export function isMissing(error: unknown): boolean {
  return [ERRNO.noSuchTable, ERRNO.noSuchProcedure].includes(errnoOf(error))
}

/** The table is of an earlier version. */
export function isMissingColumn(error: unknown): boolean {
  return errnoOf(error) === ERRNO.noSuchColumn
}

export function isDuplicateColumn(error: unknown): boolean {
  return errnoOf(error) === ERRNO.duplicateColumn
}

/** The server rolled the statement back. It may be sent again at once. */
export function isDeadlock(error: unknown): boolean {
  return errnoOf(error) === ERRNO.deadlock
}

export function isSyntaxError(error: unknown): boolean {
  return errnoOf(error) === ERRNO.syntax
}

/** The user lacks a right. */
export function isAccessDenied(error: unknown): boolean {
  return ERRNO.rightMissing.includes(errnoOf(error))
}

/** The server did not let the user in. */
export function isLoginDenied(error: unknown): boolean {
  return ERRNO.loginDenied.includes(errnoOf(error))
}

/** Whether the server answered, so that the connection is in order. */
export function isAnswer(error: unknown): boolean {
  return errnoOf(error) > 0 && (Object(error) as { readonly fatal?: unknown }).fatal !== true
}

/** Whether the server refused a statement, so that it has changed nothing. */
export function isRefusal(error: unknown): boolean {
  return isAnswer(error) && !ENDED.includes(errnoOf(error))
}

/** Errors of sockets have negative numbers. */
function errnoOf(error: unknown): number {
  const { errno } = Object(error) as { readonly errno?: unknown }
  return typeof errno === 'number' ? errno : 0
}

function verdictOn(error: unknown): Verdict {
  const code = codeOf(error)
  const message = messageOf(error)
  if (ENDED_MESSAGE.test(message) || isClosed(error))
    return { retryable: false, advice: 'this client was ended, or its connection broke: a Pool reconnects' }
  if (errnoOf(error) === ERRNO.withinTransaction)
    return {
      retryable: false,
      advice: 'this connection is within a transaction: pass a Pool, or a Connection of its own',
    }
  if (isAccessDenied(error)) return { retryable: false, advice: RIGHT_MISSING }
  const isSocketError = isConnectionCode(code) && !code.startsWith('ER_')
  const retryable =
    RETRYABLE.has(errnoOf(error)) ||
    RETRYABLE_DRIVER_CODE.test(code) ||
    isSocketError ||
    (code === '' && BUSY_MESSAGE.test(message))
  return { retryable }
}
