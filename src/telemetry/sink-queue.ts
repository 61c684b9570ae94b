import { hasMethods } from '../base/arguments.ts'
import type { TelemetryRecord } from './record.ts'

/** Where records go: a file, a server, a meter. When it throws or rejects, the records are sent again later. */
export interface Sink {
  /**
   * Takes all records, or fails and has taken none. A sink that takes them in parts calls `onTaken` after each part
   * with the number of records in it, in order. When it then fails, only the rest is sent again. A sink that has to
   * drop records that it took, now or earlier, calls `onDropped` with their number and the reason.
   */
  write(
    records: readonly TelemetryRecord[],
    onTaken?: (count: number) => void,
    onDropped?: OnDropped,
  ): void | Promise<void>
  close?(): void | Promise<void>
}

export type OnDropped = (count: number, reason: string) => void

export interface SinkQueue {
  add(records: readonly TelemetryRecord[]): void
  /** Sends all records to the sink. A synchronous sink has written them when this returns. */
  flush(): Promise<void>
  /** Drops the records that the sink has not taken. */
  dropAll(): void
}

export interface SinkQueueOptions {
  /** How many records wait. Beyond it the oldest are dropped. */
  readonly limit: number
  onFailure(error: unknown): void
  readonly onDropped: OnDropped
}

/** Keeps records in order for a sink that may fail or be slow. */
export function createSinkQueue(sink: Sink, { limit, onFailure, onDropped }: SinkQueueOptions): SinkQueue {
  let waiting: TelemetryRecord[] = []
  let writing: Promise<void> | undefined

  return {
    add(records) {
      waiting = [...waiting, ...records]
      keepNewest(limit)
    },
    async flush() {
      while (writing) await writing
      if (waiting.length === 0) return
      const batch = waiting
      waiting = []
      let taken = 0
      const onTaken = (count: number) => {
        taken += count
      }
      const onFailed = (error: unknown) => putBack(batch.slice(taken), error)
      let pending: unknown
      try {
        pending = sink.write(batch, onTaken, onDropped)
      } catch (error) {
        return onFailed(error)
      }
      if (!hasMethods(pending, 'then')) return
      writing = Promise.resolve(pending)
        .then(() => {}, onFailed)
        .finally(() => {
          writing = undefined
        })
      await writing
    },
    dropAll: () => keepNewest(0),
  }

  function putBack(records: readonly TelemetryRecord[], error: unknown): void {
    waiting = [...records, ...waiting]
    keepNewest(limit)
    onFailure(error)
  }

  function keepNewest(count: number): void {
    const excess = waiting.length - count
    if (excess <= 0) return
    waiting = waiting.slice(excess)
    onDropped(excess, 'a sink does not take them')
  }
}
