import { RECORD_VERSION, type TelemetryRecord } from '../../src/telemetry/index.ts'

export const NOON = Date.UTC(2030, 0, 1, 12)
export const MINUTE = 60_000
export const WINDOW = 15 * MINUTE

/** A record of the project lock at a time after noon. */
export function record(
  type: string,
  afterMs: number,
  fields: Partial<TelemetryRecord> = {},
): TelemetryRecord {
  const at = new Date(NOON + afterMs).toISOString()
  return { v: RECORD_VERSION, at, stream: 'project', type, ...fields }
}

/** Acquires of one window, of which some ended with `retryable=false`. */
export function acquires(window: number, granted: number, refused: number): TelemetryRecord[] {
  const at = window * WINDOW
  const refusal = { operation: 'acquire', retryable: false, code: 'lock-unavailable', attempts: 5 }
  return [
    ...Array.from({ length: granted }, () => record('lock:acquired', at, { backend: 'web', attempts: 1 })),
    ...Array.from({ length: refused }, () => record('lock:error', at, { backend: 'web', ...refusal })),
  ]
}

export function linesOf(records: readonly TelemetryRecord[]): string {
  return records.map((one) => `${JSON.stringify(one)}\n`).join('')
}
