import type { Clock } from '../core/index.ts'
import { type Encoding, encode } from './encode.ts'
import type { TelemetryEvent } from './event.ts'
import { LockTracker } from './lock-tracker.ts'
import type { StreamName, TelemetryRecord } from './record.ts'

export interface ListenOptions {
  /** The events were recorded earlier: time passes as they say. Default false. */
  readonly recorded?: boolean
}

export interface Ear {
  /** Keeps the event, and says how many it keeps. */
  hear(event: TelemetryEvent): number
  /** The records of all that was heard since the last time. */
  take(): TelemetryRecord[]
}

/** Hears one stream. Events are immutable, so all work on them can wait. */
export function createEar(
  stream: StreamName,
  encoding: Encoding,
  clock: Clock,
  { recorded = false }: ListenOptions,
): Ear {
  const tracker = stream === 'project' ? new LockTracker() : undefined
  let events: TelemetryEvent[] = []
  /** When each event was heard, where that is needed. */
  let moments: number[] = []
  return {
    hear(event) {
      if (tracker) moments.push(recorded ? timeOf(event) : clock.monotonic())
      return events.push(event)
    },
    take() {
      const heard = events
      const heardAt = moments
      events = []
      moments = []
      return heard.flatMap((event, index) => {
        const tracked = tracker?.follow(event, heardAt[index] ?? 0) ?? {}
        return encode(encoding, stream, event, isoTimeOf(event, clock), tracked) ?? []
      })
    },
  }
}

function isoTimeOf(event: TelemetryEvent, clock: Clock): string {
  const time = timeOf(event)
  return new Date(time >= 0 && time < MAX_TIME ? time : clock.now()).toISOString()
}

function timeOf({ at }: TelemetryEvent): number {
  if (typeof at === 'string') return Date.parse(at)
  return typeof at === 'number' ? at : Number.NaN
}

/** The year 10000, whose ISO 8601 form is another one. */
const MAX_TIME = Date.UTC(10_000, 0)
