/** One turn of one waiter. Times are milliseconds of the machine's monotonic clock, the same in all processes. */
export interface Hold {
  /** Where it stood in line. */
  readonly place: number
  readonly granted: number
  /** When it called for the release. */
  readonly released: number
}

/** A crowd of waiters of one process on one resource. */
export interface Crowd {
  /** Resolves when all of them stand in line. */
  readonly waiting: Promise<void>
  /** Resolves when each has had its turn. */
  readonly done: Promise<readonly Hold[]>
}

export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

export const HOLD_MS = 1
