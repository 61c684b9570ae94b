import type { Sink } from './outbox.ts'
import { MAX_BATCH_RECORDS } from './receive.ts'
import type { TelemetryRecord } from './record.ts'

/** Keeps records through a reload while the server cannot be reached. */
export interface RecordBuffer {
  /** Adds to what is kept; the oldest go when there is no room. */
  append(records: readonly TelemetryRecord[]): Promise<void>
  /** Hands over what is kept, oldest first, and forgets what was taken. */
  drain(take: (records: readonly TelemetryRecord[]) => Promise<void>): Promise<void>
}

export interface HttpSinkOptions {
  /** Where records wait while the server cannot be reached. Default: in memory, with the collector. */
  readonly buffer?: RecordBuffer
  readonly fetch?: typeof fetch
  /** Sent with each request, such as an authorization. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Browsers refuse more with `keepalive`, which lets a request outlive its page. */
const MAX_KEEPALIVE_LENGTH = 60_000
const MAX_BATCH_LENGTH = 50_000

/**
 * Posts records in batches to a server's `POST /telemetry`.
 *
 * @example
 * const collector = createCollector({ sinks: [httpSink('/telemetry', { buffer: opfsBuffer() })], interval: 5000 })
 * addEventListener('pagehide', () => collector.flush())
 */
export function httpSink(url: string, options: HttpSinkOptions = {}): Sink {
  const { buffer, headers } = options
  const send = options.fetch ?? ((...args: Parameters<typeof fetch>) => fetch(...args))
  return {
    async write(records) {
      try {
        await post(records)
      } catch (error) {
        if (!buffer) throw error
        await buffer.append(records)
        return
      }
      // It can be reached, so what waited may follow; if not all of it can, the rest goes on waiting.
      await buffer?.drain(post).catch(() => {})
    },
  }

  async function post(records: readonly TelemetryRecord[]): Promise<void> {
    for (const body of batchesOf(records)) {
      const response = await send(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        keepalive: body.length <= MAX_KEEPALIVE_LENGTH,
      })
      await response.body?.cancel()
      // What it will never take must not hold up what comes after it.
      if (!response.ok && !isFinal(response.status)) throw new Error(`${url} answered ${response.status}`)
    }
  }
}

function isFinal(status: number): boolean {
  return status === 400 || status === 413 || status === 422
}

/** Bodies of requests, each within what a server takes. Lines are ASCII but for names that were revealed. */
function* batchesOf(records: readonly TelemetryRecord[]): Generator<string> {
  let lines: string[] = []
  let length = 0
  for (const record of records) {
    const line = JSON.stringify(record)
    if (lines.length === MAX_BATCH_RECORDS || length + line.length > MAX_BATCH_LENGTH) {
      yield bodyOf(lines)
      lines = []
      length = 0
    }
    lines.push(line)
    length += line.length + 1
  }
  if (lines.length > 0) yield bodyOf(lines)
}

function bodyOf(lines: readonly string[]): string {
  return `{"events":[${lines.join()}]}`
}
