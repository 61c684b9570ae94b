import type { TelemetryRecord } from './record.ts'
import { isRecord, onlyKnownFields } from './validate.ts'

/** How many records one `POST /telemetry` may bring. */
export const MAX_BATCH_RECORDS = 500

/** A batch that was looked through, or the answer to give to who sent it. */
export type Received =
  | { readonly ok: true; readonly records: readonly TelemetryRecord[]; readonly refused: number }
  | { readonly ok: false; readonly status: 400 | 413; readonly error: 'invalid_batch' | 'batch_too_large' }

/**
 * Checks the body of a `POST /telemetry`: `{ "events": [ … ] }`. Records that are none are counted and left
 * out, and so are fields that are not known: a page belongs to whoever opened it.
 *
 * @example
 * const batch = receiveTelemetry(await request.json())
 * if (batch.ok) sink.write(batch.records)
 */
export function receiveTelemetry(body: unknown): Received {
  const events = (body as { events?: unknown } | null | undefined)?.events
  if (!Array.isArray(events)) return { ok: false, status: 400, error: 'invalid_batch' }
  if (events.length > MAX_BATCH_RECORDS) return { ok: false, status: 413, error: 'batch_too_large' }
  const sound = events.filter(isRecord).map(onlyKnownFields)
  return { ok: true, records: sound, refused: events.length - sound.length }
}
