/** Compare and set: read, decide, and write if nothing has changed since. Otherwise start again. */
import type { Stop } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import type { ConflictQueue } from './conflict-queue.ts'
import type { Reading, Register, Registers } from './registers.ts'
import { type Row, rowOf } from './transitions.ts'

/** A resource as it was read. */
export interface Seen<R extends Register> {
  readonly row: Row<R> | null
  readonly now: () => Promise<number>
}

/** The outcome, or the write that is to bring it about. */
export type Decide<R extends Register, T> = (seen: Seen<R>) => Promise<T | Change<R, T>>

/** A write that is to be made. */
export class Change<R extends Register, T> {
  readonly write: () => Promise<T | Again<R>>

  constructor(write: () => Promise<T | Again<R>>) {
    this.write = write
  }
}

/** Another write came first. */
export class Again<R extends Register> {
  /** The register after that write, if the database told it. */
  readonly latest: Reading<R, R | null> | null

  constructor(latest: Reading<R, R | null> | null) {
    this.latest = latest
  }
}

interface CompareAndSetOptions<R extends Register, T> {
  readonly conflicts: ConflictQueue
  readonly clock: Clock
  readonly stop: Stop
  readonly decide: Decide<R, T>
}

export async function compareAndSet<R extends Register, T>(
  registers: Registers<R>,
  resource: string,
  { conflicts, clock, stop, decide }: CompareAndSetOptions<R, T>,
): Promise<T> {
  const look = async (latest: Reading<R, R | null> | null) => {
    stop.throwIfAborted()
    const { registers: found, now } = latest ?? (await registers.read([resource]))
    stop.throwIfAborted()
    const [register] = found
    return decide({ row: register ? rowOf(register) : null, now })
  }
  const first = await look(null)
  if (!(first instanceof Change)) return first
  const written = await first.write()
  if (!(written instanceof Again)) return written
  const second = await look(written.latest)
  // Often the write that came first was the grant of another caller, and there is nothing left to write.
  if (!(second instanceof Change)) return second
  return conflicts.take(resource, async (hasWaited) => {
    let next = hasWaited ? await look(null) : second
    for (let count = 1; ; count++) {
      if (!(next instanceof Change)) return next
      const started = clock.monotonic()
      const result = await next.write()
      if (!(result instanceof Again)) return result
      const hasPaused = await conflicts.pause(count, clock.monotonic() - started, stop)
      next = await look(hasPaused ? null : result.latest)
    }
  })
}
