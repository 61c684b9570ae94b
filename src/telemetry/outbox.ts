import type { TelemetryRecord } from './record.ts'

/** Where lines go: a file, a server, a meter. What it throws or rejects is tried again later. */
export interface Sink {
  /**
   * Takes all of the records, or fails and has taken none. One that takes them in parts says after each how many
   * those were, from the first on: when it fails, only the others come again.
   */
  write(records: readonly TelemetryRecord[], onTaken?: (count: number) => void): void | Promise<void>
  close?(): void | Promise<void>
}

export interface Outbox {
  add(records: readonly TelemetryRecord[]): void
  /** Offers everything to the sink; a sink that writes at once has it when this returns. */
  flush(): Promise<void>
}

/** Keeps records in order for a sink that may fail or be slow, up to a limit; beyond it the oldest are dropped. */
export function createOutbox(
  sink: Sink,
  limit: number,
  onFailure: (error: unknown) => void,
  onDropped: (count: number) => void,
): Outbox {
  let waiting: TelemetryRecord[] = []
  let writing: Promise<void> | undefined

  return {
    add(records) {
      waiting.push(...records)
      trim()
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
      let pending: void | Promise<void>
      try {
        pending = sink.write(batch, onTaken)
      } catch (error) {
        return onFailed(error)
      }
      if (!pending) return
      writing = pending.catch(onFailed).finally(() => {
        writing = undefined
      })
      await writing
    },
  }

  function putBack(untaken: readonly TelemetryRecord[], error: unknown): void {
    waiting = [...untaken, ...waiting]
    trim()
    onFailure(error)
  }

  function trim(): void {
    const excess = waiting.length - limit
    if (excess <= 0) return
    waiting = waiting.slice(excess)
    onDropped(excess)
  }
}
