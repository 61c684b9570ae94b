import { expectName, refuse } from './checks.ts'

/** How the parts of a job are named in its record. */
export interface JobFields {
  readonly status: string
  readonly result: string
  readonly error: string
  readonly attempts: string
  readonly lockOwner: string
  readonly lockExpiresAt: string
  readonly lockHeartbeatAt: string
  readonly lockToken: string
}

export interface JobStatuses {
  /** Of a job that was added. Default `PENDING`. */
  readonly pending?: string
  /** Final, with a result. Default `READY`. */
  readonly ready?: string
  /** Final, with an error. Default `FAILED`. */
  readonly failed?: string
  /** More statuses that are final, such as `CANCELLED`. Default: none. */
  readonly alsoFinal?: readonly string[]
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
}

export const COLUMNS: JobFields = {
  ...DOCUMENT_FIELDS,
  lockOwner: 'lock_owner',
  lockExpiresAt: 'lock_expires_at',
  lockHeartbeatAt: 'lock_heartbeat_at',
  lockToken: 'lock_token',
}

export function fieldsOf(defaults: JobFields, given: Partial<JobFields> = {}): JobFields {
  const fields = { ...defaults, ...given }
  const names = Object.values(fields)
  for (const name of names) expectName('fields', name)
  if (new Set(names).size < names.length) refuse('fields', 'names that differ', names.join(', '))
  return fields
}

export function statusesOf(given: JobStatuses = {}): Statuses {
  const { pending = 'PENDING', ready = 'READY', failed = 'FAILED', alsoFinal = [] } = given
  const final = [ready, failed, ...alsoFinal]
  for (const status of [pending, ...final]) expectName('statuses', status)
  if (final.includes(pending) || ready === failed)
    refuse('statuses', 'pending, ready and failed that differ', [pending, ready, failed].join(', '))
  return { pending, ready, failed, final }
}
