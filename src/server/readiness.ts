import { answerWithin, CALL_TIMEOUT_MS } from '../base/answer-within.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { asLeaseError, type LeaseError } from '../base/errors.ts'
import type { LookingStore } from '../core/index.ts'
import type { AuditLog } from './audit.ts'
import type { Bus } from './bus.ts'
import type { DocumentStore } from './documents.ts'

export interface Dependencies {
  readonly store: Pick<LookingStore, 'check' | 'read'>
  readonly documents: Pick<DocumentStore, 'check' | 'read'>
  /** Default: none is checked. */
  readonly audit?: Pick<AuditLog, 'check' | 'read'> | undefined
  readonly bus?: Pick<Bus, 'check'> | undefined
}

/** What a service depends on, by the names that operators see. */
export type DependencyName = 'leases' | 'documents' | 'audit' | 'bus'

export interface DependencyFailure {
  readonly name: DependencyName
  readonly error: LeaseError
}

const PROBE = 'holdfast:ready'

/**
 * Checks everything that a service depends on, and changes nothing. Resolves with what failed.
 *
 * @example
 * const failures = await checkDependencies({ store, documents, audit, bus })
 */
export async function checkDependencies(
  { store, documents, audit, bus }: Dependencies,
  clock: Clock = systemClock,
): Promise<readonly DependencyFailure[]> {
  const checks: Readonly<Record<DependencyName, () => Promise<unknown> | undefined>> = {
    leases: () => store.check?.() ?? store.read([PROBE]),
    documents: () => documents.check?.() ?? documents.read(PROBE),
    audit: () => audit?.check?.() ?? audit?.read({ limit: 1 }),
    bus: () => bus?.check?.(),
  }
  const names = Object.keys(checks) as DependencyName[]
  const failures = await Promise.all(
    names.map(async (name) => {
      try {
        await answerWithin(Promise.resolve(checks[name]()), CALL_TIMEOUT_MS, { clock })
        return []
      } catch (error) {
        return [{ name, error: asLeaseError(error) }]
      }
    }),
  )
  return failures.flat()
}

/** Probes that come while a check is under way share its result. */
export function sharedCheck<T>(check: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    running ??= check().finally(() => {
      running = undefined
    })
    return running
  }
}
