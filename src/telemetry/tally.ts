import type { TelemetryRecord } from './record.ts'
import { signalOf, WARNINGS, type WarningKind, warningOf } from './signals.ts'
import { Sketch } from './sketch.ts'

/** What is counted of one stream in one window. Adding and merging commute, so order does not matter. */
export class Tally {
  readonly counts = {
    records: 0,
    granted: 0,
    refused: 0,
    /** Of all acquires that ended. */
    attempts: 0,
    /** Acquires that ended on the fallback. */
    fallback: 0,
    beats: 0,
    missedBeats: 0,
    readonlyEntered: 0,
    readonlyReturned: 0,
  }
  readonly warnings = Object.fromEntries(WARNINGS.map((kind) => [kind, 0])) as Record<WarningKind, number>
  readonly sketches = {
    waited: new Sketch(),
    left: new Sketch(),
    release: new Sketch(),
    backoff: new Sketch(),
  }

  add(record: TelemetryRecord): void {
    const { counts, sketches } = this
    counts.records++
    switch (signalOf(record)) {
      case 'granted':
        counts.granted++
        this.#endOfAcquire(record)
        if (record.returned) counts.readonlyReturned++
        break
      case 'refused':
        counts.refused++
        this.#endOfAcquire(record)
        break
      case 'beat':
        counts.beats++
        if (record.leftMs !== undefined) sketches.left.add(record.leftMs)
        break
      case 'missed-beat':
        counts.missedBeats++
        break
      case 'released':
        if (record.releaseMs !== undefined) sketches.release.add(record.releaseMs)
        break
      case 'backoff':
        if (record.delayMs !== undefined) sketches.backoff.add(record.delayMs)
        break
      case 'warning':
        this.warnings[warningOf(record)]++
        break
      case 'read-only':
        counts.readonlyEntered++
        break
      case 'returned':
        counts.readonlyReturned++
        break
    }
  }

  #endOfAcquire({ attempts, waitedMs, backend }: TelemetryRecord): void {
    this.counts.attempts += attempts ?? 1
    if (backend === 'fallback') this.counts.fallback++
    if (waitedMs !== undefined) this.sketches.waited.add(waitedMs)
  }

  merge(other: Tally): void {
    addCounts(this.counts, other.counts)
    addCounts(this.warnings, other.warnings)
    for (const [name, sketch] of Object.entries(this.sketches))
      sketch.merge(other.sketches[name as keyof Tally['sketches']])
  }
}

/** Adds what `other` counts to the counts of the same names. */
export function addCounts<K extends string>(
  counts: Record<K, number>,
  other: Readonly<Record<K, number>>,
): void {
  for (const name of Object.keys(counts) as K[]) counts[name] += other[name]
}
