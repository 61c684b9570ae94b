import { leaseIdOf, type TelemetryEvent, within } from './event.ts'
import type { RecordFields } from './record.ts'

/** Acquires and leases under way; more than these are forgotten, oldest first. */
const MAX_TRACKED = 1000

interface Track {
  readonly startedMs: number
  attempts: number
  acquiredMs?: number
  releaseRequestedMs?: number
  /** The executor has just failed. */
  executorFailed?: boolean
  /** By the clock of the events. */
  ttlExpiresAt?: number
}

/**
 * Follows the events of a project lock and knows at its end what no single event tells: how long the wait
 * was, how many attempts it took, what was left of the TTL at a beat, how long the release took, and which
 * grant ended a time of read-only. `nowMs` is monotonic: a wall clock that jumps makes no wait longer.
 */
export class LockTracker {
  readonly #tracks = new Map<string, Track>()
  readonly #readonlyScopes = new Set<unknown>()

  follow(event: TelemetryEvent, nowMs: number): RecordFields {
    const id = leaseIdOf(event) ?? ''
    const track = this.#tracks.get(id) ?? this.#start(id, nowMs)
    switch (event.type) {
      case 'lock:attempt':
        track.attempts++
        return {}
      case 'lock:acquired':
        track.acquiredMs = nowMs
        rememberTtl(track, event)
        return {
          ...endOfAcquire(track, nowMs),
          ...(this.#readonlyScopes.delete(event.scope) && { returned: true }),
        }
      case 'lock:renewed': {
        const before = track.ttlExpiresAt
        rememberTtl(track, event)
        return before === undefined || typeof event.at !== 'number'
          ? {}
          : { leftMs: Math.max(0, before - event.at) }
      }
      case 'lock:retry':
        return { operation: retriedOperation(track) }
      case 'lock:release-requested':
        track.releaseRequestedMs = nowMs
        return {}
      case 'lock:released':
        this.#tracks.delete(id)
        return endOfLease(track, nowMs)
      case 'lock:error':
        track.executorFailed = event.operation === 'execute'
        if (event.operation !== 'acquire' || event.retryable !== false) return {}
        this.#tracks.delete(id)
        return endOfAcquire(track, nowMs)
      case 'lock:readonly-entered':
        this.#tracks.delete(id)
        this.#readonlyScopes.add(event.scope)
        return {}
      default:
        return {}
    }
  }

  #start(id: string, nowMs: number): Track {
    const track = { startedMs: nowMs, attempts: 0 }
    this.#tracks.set(id, track)
    const [oldest] = this.#tracks.keys()
    if (this.#tracks.size > MAX_TRACKED && oldest !== undefined) this.#tracks.delete(oldest)
    return track
  }
}

/** The event does not tell. It follows the error of an executor; without one, a lease that is held is renewed. */
function retriedOperation(track: Track): string {
  const { acquiredMs, executorFailed } = track
  track.executorFailed = false
  if (executorFailed) return 'execute'
  return acquiredMs === undefined ? 'acquire' : 'renew'
}

function endOfAcquire({ startedMs, attempts }: Track, nowMs: number): RecordFields {
  // Without an attempt that was heard, the start of the wait is not known either.
  return attempts === 0 ? {} : { attempts, waitedMs: Math.max(0, nowMs - startedMs) }
}

function endOfLease({ acquiredMs, releaseRequestedMs }: Track, nowMs: number): RecordFields {
  return {
    ...(acquiredMs !== undefined && { heldMs: Math.max(0, nowMs - acquiredMs) }),
    ...(releaseRequestedMs !== undefined && { releaseMs: Math.max(0, nowMs - releaseRequestedMs) }),
  }
}

function rememberTtl(track: Track, event: TelemetryEvent): void {
  const expiresAt = event.ttlExpiresAt ?? within(event.lease, 'ttlExpiresAt')
  if (Number.isFinite(expiresAt)) track.ttlExpiresAt = expiresAt as number
}
