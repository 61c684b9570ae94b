import type { Link } from './link.ts'
import type { Trouble } from './plan.ts'

/** A part of the product with those who use it. All parts of a run share the time, the weather and the database. */
export interface Part {
  /** To the database. */
  readonly insideLinks: readonly Link[]
  /** To everything else. */
  readonly outsideLinks: readonly Link[]
  /** From now on its people and processes act by themselves, as long as it is stormy. */
  start(): void
  /** False: there is nobody whom the trouble could meet. */
  meet(trouble: Trouble): boolean
  /** The trouble is over: what was stopped goes on, and what is full has space again. */
  calm(): void
  /** Everything that is under way ends, or is reported. Compares what is left with what happened. */
  settle(): Promise<void>
  close(): Promise<void>
  /** Judges the history, when the run is over. */
  judge(): void
}
