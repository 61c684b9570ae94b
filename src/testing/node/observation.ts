import { openSync, readFileSync, writeSync } from 'node:fs'

/** What a process saw with its own eyes. Times are µs of the machine's monotonic clock, the same for all. */
export interface Observation {
  readonly at: number
  readonly worker: string
  readonly resource: string
  /** Of the lease that it believed to hold at that moment. */
  readonly token?: number | undefined
  /** It waits in the queue of the store: how many waiters are ahead; `null`: it gave up. Without this and `token`: it began to ask. */
  readonly place?: number | null | undefined
  /** How many may hold the resource together. Absent: one. */
  readonly share?: number | undefined
}

export function now(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/** A log that many processes append to. A line is one write, so no crash can tear it. */
export function appendTo(path: string): (observation: Observation) => void {
  const file = openSync(path, 'a')
  return (observation) => void writeSync(file, `${JSON.stringify(observation)}\n`)
}

/** In the order of time. */
export function readLog(path: string): Observation[] {
  // Behind the last line break there is nothing, or a line of which only a part can be seen yet.
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.map((line): Observation => JSON.parse(line)).sort((a, b) => a.at - b.at)
}
