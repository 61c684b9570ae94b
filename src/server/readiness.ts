import { answerWithin } from '../base/answer-within.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { asLeaseError, type LeaseError } from '../base/errors.ts'
import { CALL_TIMEOUT_MS } from '../base/options.ts'
import type { LookingStore } from '../core/index.ts'
import type { AuditLog } from './audit.ts'
import type { Bus } from './bus.ts'
import type { DocumentStore } from './documents.ts'
import { READY_FOR_MS } from './options.ts'
import type { SecretStore } from './secrets.ts'

export interface Dependencies {
  readonly store: Pick<LookingStore, 'check' | 'read'>
  readonly documents: Pick<DocumentStore, 'check' | 'read'>
  /** Default: none is checked. */
  readonly audit?: Pick<AuditLog, 'check' | 'read'> | undefined
  readonly bus?: Pick<Bus, 'check'> | undefined
  readonly secrets?: Pick<SecretStore, 'check'> | undefined
}

/** What a service depends on, by the names that operators see. */
export type DependencyName = 'leases' | 'documents' | 'audit' | 'bus' | 'secrets'

export interface DependencyFailure {
  readonly name: DependencyName
  readonly error: LeaseError
}

const PROBE = 'holdfast:ready'

/**
 * Checks everything that a service depends on. It also tries to write, and leaves nothing behind. Resolves with what
 * failed.
 *
 * @example
 * const failures = await checkDependencies({ store, documents, audit, bus })
 */
export async function checkDependencies(
  { store, documents, audit, bus, secrets }: Dependencies,
  clock: Clock = systemClock,
): Promise<readonly DependencyFailure[]> {
  const checks: Readonly<Record<DependencyName, () => Promise<unknown> | undefined>> = {
    leases: () => store.check?.() ?? store.read([PROBE]),
    documents: () => documents.check?.() ?? documents.read(PROBE),
    audit: () => audit?.check?.() ?? audit?.read({ limit: 1 }),
    bus: () => bus?.check?.(),
    secrets: () => secrets?.check?.(),
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

/**
 * Probes that come while a check is under way share its result. If nothing failed, the next ones share it too, for
 * `READY_FOR_MS`. After a failure each looks again, so that a recovery is noticed at once.
 */
export function sharedCheck(
  check: () => Promise<readonly DependencyFailure[]>,
  clock: Clock,
): () => Promise<readonly DependencyFailure[]> {
  let running: Promise<readonly DependencyFailure[]> | undefined
  let readyUntil = -Infinity
  const run = async () => {
    try {
      const failures = await check()
      if (failures.length === 0) readyUntil = clock.monotonic() + READY_FOR_MS
      return failures
    } finally {
      running = undefined
    }
  }
  return async () => {
    if (clock.monotonic() < readyUntil) return []
    running ??= run()
    return running
  }
}
