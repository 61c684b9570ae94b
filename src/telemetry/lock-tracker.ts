import { fieldOf, leaseIdOf, type TelemetryEvent } from './encode-event.ts'
import { MAX_TRACKED_LOCKS } from './options.ts'
import type { RecordFields } from './record.ts'

interface Track {
  readonly startedMs: number
  attempts: number
  acquiredMs?: number
  releaseRequestedMs?: number
  /** The event before was an error of the executor. */
  executorFailed?: boolean
  /** The last attempt found that another tab holds the lock. */
  contended?: boolean
  /** Milliseconds of the clock that the events' `at` comes from. */
  ttlExpiresAt?: number
}

/**
 * Follows the events of project locks and computes what no single event contains: how long the wait was, how many
 * attempts it took, how much TTL was left at a renewal, how long the release took, which grant ended the read-only
 * mode, and whether another tab holds the lock that was refused. `nowMs` is monotonic, so a jump of the wall clock changes no duration.
 */
export class LockTracker {
  readonly #tracks = new Map<string, Track>()
  readonly #readonlyScopes = new Set<unknown>()

  /** Returns the fields that the event adds to its record. */
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
        track.contended = event.reason === 'contended'
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
        return { ...endOfAcquire(track, nowMs), ...heldByAnother(track, event.error) }
      case 'lock:readonly-entered':
        this.#tracks.delete(id)
        this.#readonlyScopes.add(event.scope)
        return event.reason === 'acquire-failed' ? heldByAnother(track, event.lastError) : {}
      default:
        return {}
    }
  }

  #start(id: string, nowMs: number): Track {
    const track = { startedMs: nowMs, attempts: 0 }
    this.#tracks.set(id, track)
    const [oldest] = this.#tracks.keys()
    if (this.#tracks.size > MAX_TRACKED_LOCKS && oldest !== undefined) this.#tracks.delete(oldest)
    return track
  }
}

/**
 * `lock:retry` does not name its operation. After an error of the executor, the executor is retried. Otherwise a held
 * lease retries its renewal, and a lease that is not held yet retries its acquire.
 */
function retriedOperation(track: Track): string {
  const { acquiredMs, executorFailed } = track
  track.executorFailed = false
  if (executorFailed) return 'execute'
  return acquiredMs === undefined ? 'acquire' : 'renew'
}

const HELD_CODES: readonly unknown[] = ['lock-timeout', 'fallback-conflict']

/** The cause of the error says it. An event that was written as JSON has none; then the attempt before says it. */
function heldByAnother({ contended = false }: Track, error: unknown): RecordFields {
  const cause = fieldOf(fieldOf(error, 'cause'), 'code')
  const held = cause === undefined ? contended : HELD_CODES.includes(cause)
  return held ? { held } : {}
}

function endOfAcquire({ startedMs, attempts }: Track, nowMs: number): RecordFields {
  // Without a `lock:attempt` event, the start of the wait is unknown too.
  return attempts === 0 ? {} : { attempts, waitedMs: Math.max(0, nowMs - startedMs) }
}

function endOfLease({ acquiredMs, releaseRequestedMs }: Track, nowMs: number): RecordFields {
  return {
    ...(acquiredMs !== undefined && { heldMs: Math.max(0, nowMs - acquiredMs) }),
    ...(releaseRequestedMs !== undefined && { releaseMs: Math.max(0, nowMs - releaseRequestedMs) }),
  }
}

function rememberTtl(track: Track, event: TelemetryEvent): void {
  const expiresAt = event.ttlExpiresAt ?? fieldOf(event.lease, 'ttlExpiresAt')
  if (Number.isFinite(expiresAt)) track.ttlExpiresAt = expiresAt as number
}
