/** Checks of the arguments that every job store takes. */
import {
  expectObject,
  expectOptions,
  expectText,
  expectWhole,
  refuse,
  refuseClient,
} from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { checkName } from '../base/resource-name.ts'
import type { AcquireOptions, JobHolder, Outcome } from './job-store.ts'
import { expectAttempts, MAX_TTL_MS } from './options.ts'
import type { LockRequest } from './rules.ts'

/** An id is used as it is given, unlike the name of a resource: it is the key of a record of the application. */
export function expectId(id: unknown): asserts id is string {
  checkName('id', id)
}

export function expectRequest(
  id: unknown,
  owner: string,
  ttlMs: number,
  options: AcquireOptions = {},
): LockRequest {
  expectRefresh(id, owner, ttlMs)
  expectOptions(options, { maxAttempts: 1, create: 1 })
  const { maxAttempts, create } = options
  expectAttempts(maxAttempts)
  if (create !== undefined) {
    expectObject('create', create)
    if (typeof create.fingerprint !== 'string') refuse('create.fingerprint', 'a text', create.fingerprint)
    expectKeep('create.keepMs', create.keepMs)
  }
  return { owner, ttlMs, maxAttempts, create }
}

export function expectRefresh(id: unknown, owner: unknown, ttlMs: unknown): void {
  expectId(id)
  expectText('owner', owner)
  if (typeof ttlMs !== 'number' || !(ttlMs > 0 && ttlMs <= MAX_TTL_MS))
    refuse('ttlMs', 'milliseconds above 0, up to a year', ttlMs)
}

export function expectHolder(id: unknown, holder: JobHolder): void {
  expectId(id)
  expectObject('holder', holder)
  expectText('holder.owner', holder.owner)
  expectWhole('holder.token', holder.token, 0)
}

export function expectFinish(id: unknown, holder: JobHolder, outcome: Outcome): void {
  expectHolder(id, holder)
  expectObject('outcome', outcome)
  if (outcome.keepMs !== undefined) expectKeep('outcome.keepMs', outcome.keepMs)
}

function expectKeep(option: string, keepMs: unknown): void {
  if (typeof keepMs !== 'number' || !(keepMs > 0)) refuse(option, 'milliseconds above 0', keepMs)
}

/** An outcome that no transaction binds to the effect would protect nothing. */
export function refuseOutside(tx: unknown): never {
  refuseClient('tx', 'a connection with an open transaction, which also has the effect of the work', tx)
}

export function notFound(id: string): LeaseError {
  return new LeaseError('not-found', `there is no job ${id}: add it first, with once.add(id)`, {
    resource: id,
  })
}
