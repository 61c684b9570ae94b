/** The names of fields, columns and statuses, which the application may choose. */
import { expectObject, expectOptions, expectText, refuse } from '../base/arguments.ts'
import { identifier } from '../clients/sql-text.ts'

/** The name of each value of a job in its record. */
export interface JobFields {
  readonly status: string
  readonly result: string
  readonly error: string
  readonly attempts: string
  readonly lockOwner: string
  readonly lockExpiresAt: string
  readonly lockHeartbeatAt: string
  readonly lockToken: string
  /** Only of jobs of `once.result`. */
  readonly fingerprint: string
  /** Only of jobs of `once.result`. */
  readonly keptUntil: string
}

/** Other names for some values of a job. Those that are absent or `undefined` keep their default. */
export type JobFieldNames = { readonly [Field in keyof JobFields]?: string | undefined }

/** A table of an earlier version does not have these columns. They are added when the first result is to be kept. */
export const KEPT_FIELDS = ['fingerprint', 'keptUntil'] as const

export interface JobStatuses {
  /** The status of a job that was added. Default `PENDING`. */
  readonly pending?: string | undefined
  /** Final, with a result. Default `READY`. */
  readonly ready?: string | undefined
  /** Final, with an error. Default `FAILED`. */
  readonly failed?: string | undefined
  /** Other final statuses, such as `CANCELLED`. Default: none. */
  readonly alsoFinal?: readonly string[] | undefined
}

export interface Statuses {
  readonly pending: string
  readonly ready: string
  readonly failed: string
  readonly final: readonly string[]
}

export const DOCUMENT_FIELDS: JobFields = {
  status: 'status',
  result: 'result',
  error: 'error',
  attempts: 'attempts',
  lockOwner: 'lockOwner',
  lockExpiresAt: 'lockExpiresAt',
  lockHeartbeatAt: 'lockHeartbeatAt',
  lockToken: 'lockToken',
  fingerprint: 'fingerprint',
  keptUntil: 'keptUntil',
}

export const COLUMNS: JobFields = {
  ...DOCUMENT_FIELDS,
  lockOwner: 'lock_owner',
  lockExpiresAt: 'lock_expires_at',
  lockHeartbeatAt: 'lock_heartbeat_at',
  lockToken: 'lock_token',
  keptUntil: 'kept_until',
}

/** `option`: `fields` or `columns`. */
export function fieldsOf(option: string, defaults: JobFields, given: JobFieldNames = {}): JobFields {
  expectObject(option, given)
  expectOptions<JobFieldNames>(given, defaults, `${option}.`)
  const chosen = Object.entries(given).filter(([, name]) => name !== undefined)
  for (const [field, name] of chosen) expectText(`${option}.${field}`, name)
  const fields: JobFields = { ...defaults, ...Object.fromEntries(chosen) }
  const names = Object.values(fields)
  if (new Set(names).size < names.length) refuse(option, 'different names', names.join(', '))
  return fields
}

/** The names that a table of an earlier version has, too. */
export function withoutKept({ fingerprint, keptUntil, ...names }: JobFields) {
  return names
}

/** The same names, quoted for SQL. */
export function quoted(columns: JobFields): JobFields {
  const names = Object.entries(columns).map(([field, name]) => [field, identifier(name)])
  return Object.fromEntries(names)
}

export function statusesOf(given: JobStatuses = {}): Statuses {
  expectObject('statuses', given)
  expectOptions(given, { pending: 1, ready: 1, failed: 1, alsoFinal: 1 }, 'statuses.')
  const { pending = 'PENDING', ready = 'READY', failed = 'FAILED', alsoFinal = [] } = given
  if (!Array.isArray(alsoFinal)) refuse('statuses.alsoFinal', 'an array', alsoFinal)
  for (const [name, status] of Object.entries({ pending, ready, failed }))
    expectText(`statuses.${name}`, status)
  for (const status of alsoFinal) expectText('statuses.alsoFinal', status)
  const final = [ready, failed, ...alsoFinal]
  if (final.includes(pending) || ready === failed)
    refuse('statuses', 'different texts for pending, ready and failed', [pending, ...final].join(', '))
  return { pending, ready, failed, final }
}
