/**
 * What is read of an event, whichever part of Holdfast it comes from: the sum of the fields of all their
 * unions that may become part of a line. Nothing is taken on trust, and all else in an event is left behind.
 */
export interface TelemetryEvent {
  readonly type: string
  /** Milliseconds since 1970, or ISO 8601. */
  readonly at?: unknown
  readonly leaseId?: unknown
  readonly lease?: unknown
  readonly resource?: unknown
  readonly room_id?: unknown
  readonly owner?: unknown
  readonly session_id?: unknown
  readonly scope?: unknown
  readonly backend?: unknown
  readonly strategy?: unknown
  readonly operation?: unknown
  readonly error?: unknown
  readonly lastError?: unknown
  readonly retryable?: unknown
  readonly reason?: unknown
  readonly warning?: unknown
  readonly code?: unknown
  readonly phase?: unknown
  readonly attempt?: unknown
  readonly retry?: unknown
  readonly attempts?: unknown
  readonly token?: unknown
  readonly waited?: unknown
  readonly delayMs?: unknown
  readonly left?: unknown
  readonly heldFor?: unknown
  readonly ttlExpiresAt?: unknown
}

/** Reads a field of what may be an object. */
export function within(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[field] : undefined
}

export function leaseIdOf({ leaseId, lease }: TelemetryEvent): string | undefined {
  const id = leaseId ?? within(lease, 'id')
  return typeof id === 'string' ? id : undefined
}
