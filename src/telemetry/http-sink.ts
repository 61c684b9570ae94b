import type { Sink } from './outbox.ts'
import { MAX_BATCH_RECORDS } from './receive.ts'
import type { TelemetryRecord } from './record.ts'

/** Keeps records through a reload while the server cannot be reached. */
export interface RecordBuffer {
  /** Adds to what is kept; the oldest go when there is no room. */
  append(records: readonly TelemetryRecord[]): Promise<void>
  /**
   * Hands over what is kept, oldest first, until nothing is left. `take` takes some, from the first on, and says
   * how many: these are forgotten before it is called again.
   */
  drain(take: (records: readonly TelemetryRecord[]) => Promise<number>): Promise<void>
}

export interface HttpSinkOptions {
  /** Where records wait while the server cannot be reached. Default: in memory, with the collector. */
  readonly buffer?: RecordBuffer
  readonly fetch?: typeof fetch
  /** Sent with each request, such as an authorization. */
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds to wait for an answer. Default 30 000. */
  readonly timeout?: number
}

const DEFAULT_TIMEOUT_MS = 30_000

/** Browsers refuse more than 64 KiB with `keepalive`, which lets a request outlive its page. */
const MAX_BATCH_BYTES = 50_000
const utf8 = new TextEncoder()

/**
 * Posts records in batches to a server's `POST /telemetry`.
 *
 * @example
 * const collector = createCollector({ sinks: [httpSink('/telemetry', { buffer: opfsBuffer() })], interval: 5000 })
 * addEventListener('pagehide', () => collector.flush())
 */
export function httpSink(url: string, options: HttpSinkOptions = {}): Sink {
  const { buffer, headers, timeout = DEFAULT_TIMEOUT_MS } = options
  const send = options.fetch ?? ((...args: Parameters<typeof fetch>) => fetch(...args))
  return {
    async write(records, onTaken) {
      let rest = records
      try {
        while (rest.length > 0) {
          const taken = await post(rest)
          rest = rest.slice(taken)
          onTaken?.(taken)
        }
      } catch (error) {
        if (!buffer) throw error
        await buffer.append(rest)
        return
      }
      // It can be reached, so what waited may follow; if not all of it can, the rest goes on waiting.
      await buffer?.drain(post).catch(() => {})
    },
  }

  /** Sends as many of the records as one request may bring, and says how many. */
  async function post(records: readonly TelemetryRecord[]): Promise<number> {
    const lines = firstBatchOf(records)
    const request = {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: `{"events":[${lines.join()}]}`,
      // Whoever waits for ever keeps all others from the buffer.
      signal: AbortSignal.timeout(timeout),
    }
    // All requests in flight share the limit: one that is refused for the others may go without.
    const response = await send(url, { ...request, keepalive: true }).catch(() => send(url, request))
    // Its status has come: a connection that breaks now takes nothing back.
    response.body?.cancel().catch(() => {})
    // What it will never take must not hold up what comes after it.
    if (!response.ok && !isFinal(response.status)) throw new Error(`${url} answered ${response.status}`)
    return lines.length
  }
}

function isFinal(status: number): boolean {
  return status === 400 || status === 413 || status === 422
}

/** Within what a browser and a server take. */
function firstBatchOf(records: readonly TelemetryRecord[]): readonly string[] {
  const lines: string[] = []
  let bytes = 0
  for (const record of records.slice(0, MAX_BATCH_RECORDS)) {
    const line = JSON.stringify(record)
    bytes += utf8.encode(line).length + 1
    if (lines.length > 0 && bytes > MAX_BATCH_BYTES) break
    lines.push(line)
  }
  return lines
}
