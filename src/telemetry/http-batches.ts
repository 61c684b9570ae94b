/** `POST /telemetry`: the sink that sends batches of records, and the check of a batch that a server received. */
import { expectFunction, expectMethods, expectObject, expectOptions, expectText } from '../base/arguments.ts'
import { expectDuration } from '../base/duration.ts'
import { LeaseError } from '../base/errors.ts'
import { redactAddress } from '../base/redact.ts'
import { MAX_RECORDS } from '../protocol/options.ts'
import type { OnDropped, Sink } from './collector.ts'
import { type HttpSinkOptions, MAX_BATCH_BYTES, SINK_TIMEOUT_MS } from './options.ts'
import { isRecord, onlyKnownFields, type TelemetryRecord } from './record.ts'

/** Keeps records while the server cannot be reached, also when the page is reloaded. */
export interface RecordBuffer {
  /** Adds records. Without room for all, the oldest are dropped. Returns how many. */
  append(records: readonly TelemetryRecord[]): Promise<number>
  /**
   * Passes the kept records to `take`, oldest first, until none is left. `take` returns how many of them it took,
   * from the first on. These are removed before `take` is called again.
   */
  drain(take: (records: readonly TelemetryRecord[]) => Promise<number>): Promise<void>
}

const TOO_LARGE = 413
const FORBIDDEN = 403
/** Until somebody changes the server or the sink: no token, not allowed, a wrong address. */
const REFUSALS: readonly number[] = [401, FORBIDDEN, 404, 405]
const NOT_ALLOWED =
  'the server takes telemetry of pages with `acceptTelemetry`, and of programs with a lease token'
/** Of a batch that the server will never accept. */
const FINAL_STATUSES: readonly number[] = [400, TOO_LARGE, 422]
const utf8 = new TextEncoder()

/**
 * Posts records in batches to a server's `POST /telemetry`.
 *
 * @example
 * const collector = createCollector({ sinks: [httpSink('/telemetry', { buffer: opfsBuffer() })], interval: '5s' })
 * addEventListener('pagehide', () => collector.flush())
 */
export function httpSink(url: string | URL, options: HttpSinkOptions = {}): Sink {
  if (!(url instanceof URL)) expectText('url', url)
  const { buffer, send, headers, timeoutMs } = checkOptions(options)
  /** What the server needs is said once, not with each batch. */
  let isHinted = false
  return {
    async write(records, onTaken, onDropped) {
      const sendBatch = (batch: readonly TelemetryRecord[]) => post(batch, onDropped)
      let rest = records
      try {
        while (rest.length > 0) {
          const taken = await sendBatch(rest)
          rest = rest.slice(taken)
          onTaken?.(taken)
        }
      } catch (error) {
        if (!buffer) throw error
        const dropped = await buffer.append(rest)
        if (dropped > 0) onDropped?.(dropped, `the buffer for ${redactAddress(String(url))} is full`)
        onTaken?.(rest.length)
        // Waiting does not end a refusal, so somebody must hear of it.
        if (error instanceof LeaseError && error.code === 'store-failed') throw error
        return
      }
      // The server can be reached, so buffered records follow. Those that it does not take stay in the buffer.
      await buffer?.drain(sendBatch).catch(() => {})
    },
  }

  /** Sends as many of the records as the server accepts in one request. Returns how many were sent or dropped. */
  async function post(records: readonly TelemetryRecord[], onDropped?: OnDropped): Promise<number> {
    const lines = firstBatchOf(records)
    const request = {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: `{"events":[${lines.join()}]}`,
      // Without a limit, a request that never ends would block the buffer for all pages.
      signal: AbortSignal.timeout(timeoutMs),
    }
    // All requests under way share the limit of `keepalive`. One that exceeds it is sent without `keepalive`.
    const response = await send(url, { ...request, keepalive: true }).catch(() => send(url, request))
    // The status is known, so an error of the connection from now on does not matter.
    response.body?.cancel().catch(() => {})
    const { ok, status } = response
    if (ok) return lines.length
    if (status === TOO_LARGE && lines.length > 1)
      return post(records.slice(0, Math.ceil(lines.length / 2)), onDropped)
    const answer = `${redactAddress(String(url))} answered ${status}`
    if (REFUSALS.includes(status)) {
      const isNew = status === FORBIDDEN && !isHinted
      isHinted ||= isNew
      throw new LeaseError('store-failed', isNew ? `${answer}: ${NOT_ALLOWED}` : answer)
    }
    if (!FINAL_STATUSES.includes(status)) throw new LeaseError('store-unavailable', answer)
    // A batch that the server will never accept would block all later ones.
    onDropped?.(lines.length, `${answer}, so it will never accept them`)
    return lines.length
  }
}

function checkOptions(options: HttpSinkOptions) {
  expectOptions(options, { buffer: 1, fetch: 1, headers: 1, timeout: 1 })
  const { buffer, headers, timeout = SINK_TIMEOUT_MS } = options
  // Called without `this`: browsers refuse a `fetch` whose `this` is not the window.
  const { fetch: send = (...args: Parameters<typeof fetch>) => fetch(...args) } = options
  if (buffer !== undefined) expectMethods('buffer', buffer, 'a RecordBuffer', 'append', 'drain')
  expectFunction('fetch', send as unknown)
  if (headers !== undefined) expectObject('headers', headers as unknown)
  return { buffer, send, headers, timeoutMs: expectDuration('timeout', timeout, 1) }
}

/** As many records as a browser and a server accept in one request. */
function firstBatchOf(records: readonly TelemetryRecord[]): readonly string[] {
  const lines: string[] = []
  let bytes = 0
  for (const record of records.slice(0, MAX_RECORDS)) {
    const line = JSON.stringify(record)
    bytes += utf8.encode(line).length + 1
    if (lines.length > 0 && bytes > MAX_BATCH_BYTES) break
    lines.push(line)
  }
  return lines
}

/** The checked records of a batch, or the answer for the sender of an invalid batch. */
export type Received =
  | { readonly ok: true; readonly records: readonly TelemetryRecord[]; readonly refused: number }
  | { readonly ok: false; readonly status: 400 | 413; readonly error: 'invalid_batch' | 'batch_too_large' }

/**
 * Checks the body of a `POST /telemetry`: `{ "events": [ … ] }`. Malformed records are skipped and counted, and
 * unknown fields are removed, because a page can send anything.
 *
 * @example
 * const batch = receiveTelemetry(await request.json())
 * if (batch.ok) sink.write(batch.records)
 */
export function receiveTelemetry(body: unknown): Received {
  const events = (body as { events?: unknown } | null | undefined)?.events
  if (!Array.isArray(events)) return { ok: false, status: 400, error: 'invalid_batch' }
  if (events.length > MAX_RECORDS) return { ok: false, status: 413, error: 'batch_too_large' }
  const records = events.filter(isRecord).map(onlyKnownFields)
  return { ok: true, records, refused: events.length - records.length }
}
