import { metricsOf, type WindowMetrics } from './metrics.ts'
import type { StreamName, TelemetryRecord } from './record.ts'
import { addCounts, Tally } from './tally.ts'
import { isNewerRecord, isRecord } from './validate.ts'

export const WINDOW_MS = 15 * 60_000
const DEFAULT_MAX_WINDOWS = 7 * 96
const CLOCK_TOLERANCE_MS = 24 * 3_600_000

export interface AnalysisOptions {
  /** Lines from more than a day after this moment are skipped. Default: no limit. */
  readonly now?: number
  /** How many of the newest windows are kept. Default: those of a week. */
  readonly maxWindows?: number
}

/** Lines that were not counted, by reason. */
export interface Skipped {
  /** No JSON, or not a record. */
  readonly broken: number
  /** Written by a newer version of Holdfast. */
  readonly newer: number
  /** Longer than a line can be. */
  readonly huge: number
  /** The end of a file that was cut in mid-line. */
  readonly torn: number
  /** From before the windows that are kept, from the future, or from a day that does not exist. */
  readonly outside: number
}

/**
 * Counts lines into windows of 15 minutes. Its memory does not grow with the number of lines, their order
 * does not matter, and the analyses of parts merge into the analysis of the whole.
 *
 * @example
 * const analysis = new Analysis()
 * for (const line of lines) analysis.addLine(line)
 * const verdict = judge(analysis)
 */
export class Analysis {
  readonly skipped = { broken: 0, newer: 0, huge: 0, torn: 0, outside: 0 }
  readonly #windows = new Map<number, Map<StreamName, Tally>>()
  readonly #latest: number
  readonly #maxWindows: number
  /** The minute of the line before: lines come in runs, and to parse a time takes as long as to count it. */
  #minute = ''
  #minuteTallies: Map<StreamName, Tally> | undefined

  constructor({ now = Number.POSITIVE_INFINITY, maxWindows = DEFAULT_MAX_WINDOWS }: AnalysisOptions = {}) {
    this.#latest = now + CLOCK_TOLERANCE_MS
    this.#maxWindows = maxWindows
  }

  /** One line of a file, without its line break. */
  addLine(line: string): void {
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      this.skipped.broken++
      return
    }
    if (isRecord(value)) this.add(value)
    else this.skipped[isNewerRecord(value) ? 'newer' : 'broken']++
  }

  /** The end of a file without a line break: a whole line, or one that a crash has torn. */
  addLastLine(line: string): void {
    const { broken } = this.skipped
    this.addLine(line)
    if (this.skipped.broken === broken) return
    this.skipped.broken--
    this.skipped.torn++
  }

  add(record: TelemetryRecord): void {
    const tallies = this.#talliesAt(record.at)
    if (tallies) tallyOf(tallies, record.stream).add(record)
    else this.skipped.outside++
  }

  merge(other: Analysis): void {
    addCounts(this.skipped, other.skipped)
    // Its window may have to go.
    this.#minute = ''
    for (const [start, tallies] of other.#windows) {
      const mine = this.#open(start)
      for (const [stream, tally] of tallies) {
        if (mine) tallyOf(mine, stream).merge(tally)
        else this.skipped.outside += tally.counts.records
      }
    }
  }

  /** In order of time, and of streams within a window. */
  metrics(): WindowMetrics[] {
    return [...this.#windows]
      .sort(([a], [b]) => a - b)
      .flatMap(([start, tallies]) =>
        [...tallies]
          .sort(([a], [b]) => a.localeCompare(b))
          .map(([stream, tally]) => metricsOf(stream, start, WINDOW_MS, tally)),
      )
  }

  #talliesAt(at: string): Map<StreamName, Tally> | undefined {
    const minute = at.slice(0, 16)
    if (minute !== this.#minute) {
      this.#minute = minute
      const time = Date.parse(`${minute}Z`)
      // A day that does not exist is not before the limit either.
      this.#minuteTallies =
        time <= this.#latest ? this.#open(Math.floor(time / WINDOW_MS) * WINDOW_MS) : undefined
    }
    return this.#minuteTallies
  }

  /** The window that starts then; `undefined` when it is older than all that are kept. */
  #open(start: number): Map<StreamName, Tally> | undefined {
    const known = this.#windows.get(start)
    if (known) return known
    const tallies = new Map<StreamName, Tally>()
    this.#windows.set(start, tallies)
    if (this.#windows.size <= this.#maxWindows) return tallies
    const oldest = Math.min(...this.#windows.keys())
    for (const tally of this.#windows.get(oldest)?.values() ?? [])
      this.skipped.outside += tally.counts.records
    this.#windows.delete(oldest)
    return oldest === start ? undefined : tallies
  }
}

function tallyOf(tallies: Map<StreamName, Tally>, stream: StreamName): Tally {
  const known = tallies.get(stream)
  if (known) return known
  const tally = new Tally()
  tallies.set(stream, tally)
  return tally
}
