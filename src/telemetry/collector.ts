import { type Clock, systemClock } from '../core/index.ts'
import { createEar, type Ear, type ListenOptions } from './ear.ts'
import type { TelemetryEvent } from './event.ts'
import { createOutbox, type Sink } from './outbox.ts'
import { createPseudonyms } from './pseudonyms.ts'
import type { StreamName } from './record.ts'

export interface CollectorOptions {
  /** Where the lines go; all of them to each. */
  readonly sinks: readonly Sink[]
  /** Milliseconds from an event until its line is handed on. Default 1 000. */
  readonly interval?: number
  /** Names written as they are. Default none: owners and resources are hashed. */
  readonly reveal?: readonly ('owner' | 'resource')[]
  /** Goes into the hashes. Collectors that share it give the same name the same hash. Default: random. */
  readonly salt?: string
  /** Names this collector in its lines. Default: random. */
  readonly source?: string
  /** How many lines wait for a sink that fails; then the oldest are dropped. Default 10 000. */
  readonly maxWaiting?: number
  /** Told when a sink fails, and when lines are dropped. Lines that a sink did not take are tried again. */
  readonly onError?: (error: unknown) => void
  readonly clock?: Clock
}

export interface Collector extends AsyncDisposable {
  /** A listener for a stream of events; hand it to the `subscribe` or `onEvent` of any part of Holdfast. */
  listen(stream: StreamName, options?: ListenOptions): (event: { readonly type: string }) => void
  /** Hands on what was heard. A sink that writes at once has it when the call returns. */
  flush(): Promise<void>
  /** Lines that were dropped because a sink failed for too long. */
  readonly dropped: number
  /** Flushes and closes the sinks. Events that come later are ignored. */
  close(): Promise<void>
}

/** A burst of events, in which no timer fires, is handed on after so many: it must not fill the memory. */
const MAX_HEARD = 4096
const DEFAULT_INTERVAL_MS = 1000
/** As long as one block of the hash has room for beside a UUID. */
const SALT_LENGTH = 18
const DEFAULT_MAX_WAITING = 10_000

/**
 * Turns events into lines and hands them to sinks. An event costs its emitter only a place in a list; all
 * else happens later.
 *
 * @example
 * const collector = createCollector({ sinks: [fileSink('telemetry')] })
 * const leases = createLeases(store, { onEvent: collector.listen('lease') })
 */
export function createCollector(options: CollectorOptions): Collector {
  const { sinks, clock = systemClock, interval = DEFAULT_INTERVAL_MS, onError = () => {} } = options
  const encoding = {
    source: options.source ?? crypto.randomUUID().slice(0, 8),
    reveal: new Set<string>(options.reveal),
    pseudonym: createPseudonyms(options.salt ?? crypto.randomUUID().slice(0, SALT_LENGTH)),
  }
  const outboxes = sinks.map((sink) =>
    createOutbox(sink, options.maxWaiting ?? DEFAULT_MAX_WAITING, onFailure, onDropped),
  )
  const ears: Ear[] = []
  let cancelTimer: (() => void) | undefined
  let dropped = 0
  let closed: Promise<void> | undefined

  const collector: Collector = {
    listen(stream, listenOptions = {}) {
      const ear = createEar(stream, encoding, clock, listenOptions)
      ears.push(ear)
      return (event) => {
        if (closed || typeof event?.type !== 'string') return
        const count = ear.hear(event as TelemetryEvent)
        if (count === 1) schedule()
        else if (count >= MAX_HEARD) collector.flush()
      }
    },
    async flush() {
      cancelTimer?.()
      cancelTimer = undefined
      collect()
      await Promise.all(outboxes.map((outbox) => outbox.flush()))
    },
    get dropped() {
      return dropped
    },
    close() {
      closed ??= collector.flush().then(async () => {
        cancelTimer?.()
        await Promise.all(sinks.map((sink) => sink.close?.()))
      })
      return closed
    },
    [Symbol.asyncDispose]: () => collector.close(),
  }
  return collector

  function schedule(): void {
    cancelTimer ??= clock.setTimer(collector.flush, interval, true)
  }

  function collect(): void {
    const records = ears.flatMap((ear) => ear.take())
    for (const outbox of outboxes) outbox.add(records)
  }

  function onFailure(error: unknown): void {
    onError(error)
    schedule()
  }

  function onDropped(count: number): void {
    dropped += count
    onError(new Error(`${count} lines of telemetry were dropped: a sink does not take them`))
  }
}
