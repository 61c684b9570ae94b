import { type LeaseError, messageOf } from '../base/errors.ts'
import { serverError } from './server-error.ts'
import { codeOf, isConnectionCode, type Verdict } from './store-error.ts'

/**
 * SQLSTATEs, or their first two digits, after which the same call may succeed: connection (08), transaction
 * rollback (40), resources (53), operator intervention (57), system (58), a lock timeout, a connection that may only read.
 */
const RETRYABLE_STATE = /^((08|40|53|57|58)...|55P03|25006)$/
const READ_ONLY = '25006'
const SQL_STATE = /^(\d[\dA-Z]|F0|HV|P0|XX)[\dA-Z]{3}$/
/** Codes of `postgres`. */
const RETRYABLE_DRIVER_CODE = /^(CONNECT_TIMEOUT|CONNECTION_CLOSED|CONNECTION_DESTROYED)$/
/** `pg` gives these errors no code. */
const RETRYABLE_MESSAGE = /Connection terminated|timeout/i
const ENDED_MESSAGE = /not queryable|after calling end on the pool|Client was closed/

export const READ_ONLY_ADVICE =
  'connect to the primary server, and turn off default_transaction_read_only for this role and database'

/** SQLSTATEs that stores react to. */
export const INSUFFICIENT_PRIVILEGE = '42501'
/** A table, a function, the type of a table's rows or a schema does not exist. */
const MISSING = ['42P01', '42883', '42704', '3F000']
/** Two processes created the same table at once: its key, its name, or the type of its rows. */
const CREATED_BY_ANOTHER = ['23505', '42P07', '42710']
/** A prepared statement does not exist, or exists already. */
const STATEMENT_LOST = ['26000', '42P05']

export function postgresError(error: unknown, resource?: string): LeaseError {
  return serverError('Postgres', error, verdictOn(error), resource)
}

export function isMissing(error: unknown): boolean {
  return MISSING.includes(codeOf(error))
}

export function isCreatedByAnother(error: unknown): boolean {
  return CREATED_BY_ANOTHER.includes(codeOf(error))
}

/** The server has not run the query, because of its prepared statement. */
export function isStatementLost(error: unknown): boolean {
  return STATEMENT_LOST.includes(codeOf(error))
}

/** The SQLSTATE with which the server refused; `undefined` if the error is not an answer of the server. */
export function stateOf(error: unknown): string | undefined {
  const code = codeOf(error)
  return SQL_STATE.test(code) ? code : undefined
}

function verdictOn(error: unknown): Verdict {
  const code = codeOf(error)
  const message = messageOf(error)
  if (code === 'CONNECTION_ENDED' || ENDED_MESSAGE.test(message))
    return { retryable: false, advice: 'this client was ended, or its connection broke: a Pool reconnects' }
  const retryable =
    RETRYABLE_STATE.test(code) ||
    RETRYABLE_DRIVER_CODE.test(code) ||
    isConnectionCode(code) ||
    (code === '' && RETRYABLE_MESSAGE.test(message))
  const { hint } = Object(error) as { readonly hint?: unknown }
  const advice = code === READ_ONLY ? READ_ONLY_ADVICE : hint
  return { retryable, advice: typeof advice === 'string' ? advice : undefined }
}
