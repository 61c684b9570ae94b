import { expectOptions, expectWhole, refuse } from '../base/arguments.ts'
import { compareUtf8 } from '../base/utf8-order.ts'
import { addCounts, metricsOf, WindowCounts, type WindowMetrics } from './metrics.ts'
import { type AnalysisOptions, CLOCK_TOLERANCE_MS, MAX_WINDOWS, WINDOW_MS } from './options.ts'
import { isNewerRecord, isRecord, parseLine, type StreamName, type TelemetryRecord } from './record.ts'

/** Lines that were not counted, by reason. */
export interface Skipped {
  /** Not JSON, or not a record. */
  readonly broken: number
  /** Written by a newer version of Holdfast. */
  readonly newer: number
  /** Longer than a record can be. */
  readonly huge: number
  /** The incomplete last line of a file. */
  readonly torn: number
  /** Older than the windows that are kept, from the future, or with a date that does not exist. */
  readonly outside: number
}

type CountsByStream = Map<StreamName, WindowCounts>

/**
 * Counts records in windows of 15 minutes. Its memory does not grow with the number of records. Their order does not
 * matter. Several analyses can be merged into one.
 *
 * @example
 * const analysis = new Analysis()
 * for (const line of lines) analysis.addLine(line)
 * const health = checkHealth(analysis)
 */
export class Analysis {
  readonly skipped = { broken: 0, newer: 0, huge: 0, torn: 0, outside: 0 }
  readonly #windows = new Map<number, CountsByStream>()
  readonly #latest: number
  readonly #maxWindows: number
  /** The minute of the last record. Consecutive records often share it, and parsing a time is slow. */
  #minute = ''
  #minuteCounts: CountsByStream | undefined

  constructor(options: AnalysisOptions = {}) {
    expectOptions(options, { now: 1, maxWindows: 1 })
    const { now = Number.POSITIVE_INFINITY, maxWindows = MAX_WINDOWS } = options
    if (now !== Number.POSITIVE_INFINITY) expectMoment('now', now)
    expectWhole('maxWindows', maxWindows, 1)
    this.#latest = now + CLOCK_TOLERANCE_MS
    this.#maxWindows = maxWindows
  }

  /** Adds one line of a file, without its line break. Returns why it was skipped; `undefined`: it was not. */
  addLine(line: string): keyof Skipped | undefined {
    return this.#addText(line, 'broken')
  }

  /** Adds the end of a file that has no line break. The line is complete, or a crash cut it off. */
  addLastLine(line: string): keyof Skipped | undefined {
    return this.#addText(line, 'torn')
  }

  add(record: TelemetryRecord): keyof Skipped | undefined {
    const counts = this.#countsAt(record.at)
    if (!counts) return this.skip('outside')
    countsOf(counts, record.stream).add(record)
    return undefined
  }

  /** Counts a line that is not added. */
  skip(reason: keyof Skipped): keyof Skipped {
    this.skipped[reason]++
    return reason
  }

  merge(other: Analysis): void {
    if (!(other instanceof Analysis)) refuse('other', 'an Analysis', other)
    addCounts(this.skipped, other.skipped)
    // The merge may remove the window of the last record.
    this.#minute = ''
    for (const [start, countsByStream] of other.#windows) {
      const mine = this.#windowAt(start)
      for (const [stream, counts] of countsByStream) {
        if (mine) countsOf(mine, stream).merge(counts)
        else this.skipped.outside += counts.counts.records
      }
    }
  }

  /** Sorted by time, then by stream. */
  metrics(): WindowMetrics[] {
    return [...this.#windows]
      .sort(([a], [b]) => a - b)
      .flatMap(([start, countsByStream]) =>
        [...countsByStream]
          .sort(([a], [b]) => compareUtf8(a, b))
          .map(([stream, counts]) => metricsOf(stream, start, counts)),
      )
  }

  #addText(line: string, otherwise: 'broken' | 'torn'): keyof Skipped | undefined {
    const value = parseLine(line)
    if (isRecord(value)) return this.add(value)
    return this.skip(isNewerRecord(value) ? 'newer' : otherwise)
  }

  #countsAt(at: string): CountsByStream | undefined {
    const minute = at.slice(0, 16)
    if (minute !== this.#minute) {
      this.#minute = minute
      const time = Date.parse(`${minute}Z`)
      // A date that does not exist is NaN, for which the comparison is false.
      this.#minuteCounts =
        time <= this.#latest ? this.#windowAt(Math.floor(time / WINDOW_MS) * WINDOW_MS) : undefined
    }
    return this.#minuteCounts
  }

  /** The window with this start; `undefined` if it is older than all windows that are kept. */
  #windowAt(start: number): CountsByStream | undefined {
    const known = this.#windows.get(start)
    if (known) return known
    const created: CountsByStream = new Map()
    this.#windows.set(start, created)
    if (this.#windows.size <= this.#maxWindows) return created
    const oldest = Math.min(...this.#windows.keys())
    for (const { counts } of this.#windows.get(oldest)?.values() ?? []) this.skipped.outside += counts.records
    this.#windows.delete(oldest)
    return oldest === start ? undefined : created
  }
}

/** Throws unless a `Date` can be made from the value. */
export function expectMoment(option: string, value: unknown): asserts value is number {
  if (typeof value !== 'number' || Number.isNaN(new Date(value).getTime()))
    refuse(option, 'milliseconds since 1970', value)
}

function countsOf(countsByStream: CountsByStream, stream: StreamName): WindowCounts {
  const known = countsByStream.get(stream)
  if (known) return known
  const counts = new WindowCounts()
  countsByStream.set(stream, counts)
  return counts
}
