import {
  type Checks,
  type Complete,
  checkEach,
  expectBoolean,
  expectFunction,
  expectMethods,
  expectOneOf,
  expectOptions,
  expectText,
  expectWhole,
  hasMethods,
  refuse,
} from '../base/arguments.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { expectDuration } from '../base/duration.ts'
import { LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { randomId } from '../base/random-id.ts'
import { createPseudonyms, type EncodeOptions, encodeEvent, type TelemetryEvent } from './encode-event.ts'
import { LockTracker } from './lock-tracker.ts'
import {
  COLLECTOR_DEFAULTS,
  type CollectorOptions,
  type ListenOptions,
  MAX_QUEUED_EVENTS,
  SALT_LENGTH,
  SOURCE_LENGTH,
} from './options.ts'
import { hasRealDay, isCode, STREAMS, type StreamName, type TelemetryRecord } from './record.ts'

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

export interface Collector extends AsyncDisposable {
  /** A listener for one stream of events. Pass it to `subscribe` or `onEvent` of any part of Holdfast. */
  listen(stream: StreamName, options?: ListenOptions): (event: { readonly type: string }) => void
  /** Sends all events so far to the sinks. A synchronous sink has written them when the call returns. */
  flush(): Promise<void>
  /** How many records were dropped because a sink failed or refused them. */
  readonly dropped: number
  /** Flushes and closes the sinks. Later events are ignored. */
  close(): Promise<void>
}

/**
 * Turns events into records and sends them to sinks. An event costs its emitter only a place in a queue; the records
 * are made later.
 *
 * @example
 * const collector = createCollector({ sinks: [fileSink('telemetry')] })
 * const leases = createLeases(store, { onEvent: collector.listen('lease') })
 */
export function createCollector(options: CollectorOptions): Collector {
  const { sinks, interval, reveal, salt, source, maxWaiting, onError, clock } = checkOptions(options)
  const encodeOptions = { source, reveal: new Set<string>(reveal), pseudonym: createPseudonyms(salt) }
  const sinkQueues = sinks.map((sink) => createSinkQueue(sink, maxWaiting, reportFailure, reportDropped))
  const eventQueues: ReturnType<typeof createEventQueue>[] = []
  let cancelTimer: (() => void) | undefined
  let dropped = 0
  let closed: Promise<void> | undefined

  const collector: Collector = {
    listen(stream, listenOptions = {}) {
      expectOneOf('stream', stream, STREAMS)
      expectOptions(listenOptions, { recorded: 1, backend: 1 })
      const { recorded = false, backend } = listenOptions
      expectBoolean('recorded', recorded)
      if (backend !== undefined) expectText('backend', backend)
      const queue = createEventQueue(stream, { ...encodeOptions, backend }, clock, recorded)
      eventQueues.push(queue)
      return (event) => {
        if (closed || typeof event?.type !== 'string') return
        const queued = queue.add(event)
        if (queued === 1) schedule()
        else if (queued >= MAX_QUEUED_EVENTS) collector.flush()
      }
    },
    async flush() {
      cancelTimer?.()
      cancelTimer = undefined
      const records = eventQueues.flatMap((queue) => queue.takeRecords())
      for (const queue of sinkQueues) queue.add(records)
      await Promise.all(sinkQueues.map((queue) => queue.flush()))
    },
    get dropped() {
      return dropped
    },
    close() {
      closed ??= closeAll()
      return closed
    },
    [Symbol.asyncDispose]: () => collector.close(),
  }
  return collector

  async function closeAll(): Promise<void> {
    await collector.flush()
    cancelTimer?.()
    for (const queue of sinkQueues) queue.dropAll()
    // Each sink is closed, also when another one fails to close.
    const results = await Promise.allSettled(sinks.map(async (sink) => sink.close?.()))
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  function schedule(): void {
    cancelTimer ??= clock.setTimer(collector.flush, interval, true)
  }

  function reportFailure(error: unknown): void {
    notify(onError, error)
    schedule()
  }

  function reportDropped(count: number, reason: string): void {
    dropped += count
    const records = count === 1 ? '1 telemetry record' : `${count} telemetry records`
    notify(onError, new LeaseError('store-failed', `dropped ${records}: ${reason}`))
  }
}

const CHECKS: Checks<CollectorOptions> = {
  sinks(option, value) {
    if (!Array.isArray(value)) refuse(option, 'an array of sinks', value)
    for (const [index, sink] of value.entries()) expectMethods(`${option}[${index}]`, sink, 'a Sink', 'write')
  },
  interval: (option, value) => expectDuration(option, value, 0),
  reveal(option, value) {
    if (!Array.isArray(value)) refuse(option, 'an array', value)
    for (const [index, field] of value.entries())
      expectOneOf(`${option}[${index}]`, field, ['owner', 'resource'])
  },
  salt: expectText,
  source(option, value) {
    if (!isCode(value)) refuse(option, 'a letter or digit, then up to 63 letters, digits and _:.+-', value)
  },
  maxWaiting: (option, value) => expectWhole(option, value, 1),
  onError: expectFunction,
  clock: (option, value) => expectMethods(option, value, 'a Clock', 'now', 'monotonic', 'setTimer'),
}

/** Times in milliseconds. */
type CheckedOptions = Complete<Omit<CollectorOptions, 'interval' | 'onError'>> & { readonly interval: number }

function checkOptions(options: CollectorOptions): CheckedOptions & Pick<CollectorOptions, 'onError'> {
  // Absent and `undefined` options are not in it.
  const checked = checkEach(options, CHECKS) as Pick<CollectorOptions, 'sinks'> & Partial<CheckedOptions>
  CHECKS.sinks('sinks', options.sinks)
  return {
    ...COLLECTOR_DEFAULTS,
    reveal: [],
    salt: randomId().slice(0, SALT_LENGTH),
    source: randomId().slice(0, SOURCE_LENGTH),
    clock: systemClock,
    ...checked,
  }
}

/** Keeps the events of one stream. Events are immutable, so their records can be made later. */
function createEventQueue(stream: StreamName, encodeOptions: EncodeOptions, clock: Clock, recorded: boolean) {
  const tracker = stream === 'project' ? new LockTracker() : undefined
  let events: TelemetryEvent[] = []
  /** When each event came. Only the tracker needs it. */
  let arrivals: number[] = []
  return {
    /** Returns how many events wait. */
    add(event: TelemetryEvent): number {
      if (tracker) arrivals.push(recorded ? timeOf(event) : clock.monotonic())
      return events.push(event)
    },
    /** Empties the queue and returns the records of its events. */
    takeRecords(): TelemetryRecord[] {
      const taken = events
      const takenArrivals = arrivals
      events = []
      arrivals = []
      return taken.flatMap((event, index) => {
        const tracked = tracker?.follow(event, takenArrivals[index] ?? 0) ?? {}
        return encodeEvent(encodeOptions, stream, event, { at: isoTimeOf(event, clock), tracked }) ?? []
      })
    },
  }
}

/** From the year 10000 on, ISO 8601 has another form. */
const MAX_TIME = Date.UTC(10_000, 0)

/** The time of the event, or the present if the event has no valid time. */
function isoTimeOf(event: TelemetryEvent, clock: Clock): string {
  const time = timeOf(event)
  return new Date(time >= 0 && time < MAX_TIME ? time : clock.now()).toISOString()
}

function timeOf({ at }: TelemetryEvent): number {
  if (typeof at === 'string') return hasRealDay(at) ? Date.parse(at) : Number.NaN
  return typeof at === 'number' ? at : Number.NaN
}

/** Keeps records in order for a sink that may fail or be slow. */
function createSinkQueue(
  sink: Sink,
  limit: number,
  onFailure: (error: unknown) => void,
  onDropped: OnDropped,
) {
  let waiting: TelemetryRecord[] = []
  let writing: Promise<void> | undefined

  return {
    add(records: readonly TelemetryRecord[]): void {
      waiting = [...waiting, ...records]
      keepNewest(limit)
    },
    /** Sends all records to the sink. A synchronous sink has written them when this returns. */
    async flush(): Promise<void> {
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
    /** Drops the records that the sink has not taken. */
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
