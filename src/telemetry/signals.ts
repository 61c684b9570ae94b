import type { TelemetryRecord } from './record.ts'

/** What a line means for the metrics, whichever stream it came from. */
export type Signal =
  | 'granted'
  /** An acquire that ended for good without a lease (`retryable=false`). */
  | 'refused'
  | 'beat'
  | 'missed-beat'
  | 'released'
  | 'backoff'
  | 'warning'
  | 'read-only'
  /** Back from read-only; a grant that ended one says so itself. */
  | 'returned'

const BY_TYPE: Readonly<Record<string, Signal>> = {
  acquired: 'granted',
  'lock:acquired': 'granted',
  'document.locked': 'granted',
  renewed: 'beat',
  'lock:renewed': 'beat',
  lost: 'missed-beat',
  released: 'released',
  'lock:released': 'released',
  'document.unlocked': 'released',
  'lock:waiting': 'backoff',
  warning: 'warning',
  'lock:warning': 'warning',
  'lock:cleanup-warning': 'warning',
  'lock:readonly-entered': 'read-only',
  'autosave:readonly-entered': 'read-only',
  'autosave:readonly-left': 'returned',
}

export function signalOf(record: TelemetryRecord): Signal | undefined {
  const { type } = record
  if (type === 'lock:retry') return record.operation === 'renew' ? 'missed-beat' : undefined
  return type === 'error' || type === 'lock:error' ? signalOfError(record) : BY_TYPE[type]
}

/** What the executor threw is the application's own failure and says nothing of the lock. */
function signalOfError({ operation, retryable }: TelemetryRecord): Signal | undefined {
  if (operation === 'renew') return 'missed-beat'
  if (operation === 'acquire' && retryable === false) return 'refused'
  return undefined
}

/** Kinds of warnings that have a count of their own; all others share one, so that a window stays small. */
export const WARNINGS = [
  'heartbeat-delayed',
  'fallback-delayed',
  'fallback-corrupt',
  'cleanup',
  'lease-in-danger',
  'other',
] as const
export type WarningKind = (typeof WARNINGS)[number]

export function warningOf({ warning }: TelemetryRecord): WarningKind {
  return WARNINGS.find((kind) => kind === warning) ?? 'other'
}
