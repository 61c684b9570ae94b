import { LeaseError, messageOf } from '../base/errors.ts'
import { codeOf, isConnectionCode, storeError, type Verdict } from './store-error.ts'

/** Numbers of server errors. */
const ERRNO = {
  noSuchTable: 1146,
  noSuchProcedure: 1305,
  withinTransaction: 1568,
  deadlock: 1213,
  accessDenied: [1044, 1045, 1142, 1227, 1370, 1698],
}

/** After these the same call may succeed. */
const RETRYABLE = new Set([
  // Deadlock, lock timeout, a row that changed, a commit that failed.
  ...[ERRNO.deadlock, 1205, 1020, 1180, 3101, 3572],
  // Too many connections, limits of a user, out of memory.
  ...[1040, 1203, 1226, 1037, 1038, 1041],
  // Shutdown, a broken or killed connection, an interrupted or slow statement.
  ...[1053, 1079, 1158, 1159, 1160, 1161, 1184, 1317, 1927, 1969, 3024, 4031],
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

export function mysqlError(error: unknown, resource?: string): LeaseError {
  return storeError('MySQL', error, verdictOn(error), resource)
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

/** The server rolled the statement back. It may be sent again at once. */
export function isDeadlock(error: unknown): boolean {
  return errnoOf(error) === ERRNO.deadlock
}

export function isAccessDenied(error: unknown): boolean {
  return ERRNO.accessDenied.includes(errnoOf(error))
}

/** Whether the server answered, so that the connection is in order. */
export function isAnswer(error: unknown): boolean {
  return errnoOf(error) > 0 && (Object(error) as { readonly fatal?: unknown }).fatal !== true
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
  const isSocketError = isConnectionCode(code) && !code.startsWith('ER_')
  const retryable =
    RETRYABLE.has(errnoOf(error)) ||
    RETRYABLE_DRIVER_CODE.test(code) ||
    isSocketError ||
    (code === '' && BUSY_MESSAGE.test(message))
  return { retryable }
}
