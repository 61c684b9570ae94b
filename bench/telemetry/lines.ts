import { closeSync, openSync, writeSync } from 'node:fs'
import type { TelemetryRecord } from '../../src/telemetry/index.ts'

const DAY_MS = 24 * 3_600_000
const BATCH = 10_000

/** Writes a day of telemetry, as a busy site's collectors would, and returns its size in bytes. */
export function writeLines(path: string, count: number): number {
  const file = openSync(path, 'w')
  let bytes = 0
  for (let from = 0; from < count; from += BATCH) {
    const lines = Array.from({ length: BATCH }, (_, n) => `${JSON.stringify(recordAt(from + n, count))}\n`)
    bytes += writeSync(file, lines.join(''))
  }
  closeSync(file)
  return bytes
}

const KINDS: readonly ((n: number) => Partial<TelemetryRecord> & { type: string })[] = [
  (n) => ({ type: 'lock:attempt', strategy: 'web', operation: 'acquire', attempt: 1 + (n % 3) }),
  (n) => ({ type: 'lock:acquired', attempts: 1 + (n % 3), waitedMs: ((n * 7919) % 100_000) / 100 }),
  (n) => ({ type: 'lock:renewed', leftMs: 20_000 - ((n * 104_729) % 5000) / 10 }),
  (n) => ({ type: 'lock:released', heldMs: n % 60_000, releaseMs: ((n * 31) % 1000) / 100 }),
]

function recordAt(n: number, count: number): TelemetryRecord {
  const kind = KINDS[n % KINDS.length] as (typeof KINDS)[number]
  const id = (Math.floor(n / KINDS.length) * 2_654_435_761).toString(16).padStart(16, '0')
  return {
    v: 1,
    at: new Date(Date.UTC(2026, 0, 1) + (n / count) * DAY_MS).toISOString(),
    stream: 'project',
    ...kind(n),
    source: '1f2e3d4c',
    lease: id,
    scope: 'autosave',
    backend: n % 20 === 0 ? 'fallback' : 'web',
  }
}
