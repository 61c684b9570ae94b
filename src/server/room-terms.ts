import { expectObject, expectOptions, refuse } from '../base/arguments.ts'
import { type Duration, expectDuration } from '../base/duration.ts'
import { HEARTBEATS_PER_TTL, MAX_HEARTBEAT_PART } from '../base/options.ts'
import { MIN_HEARTBEAT_MS, MIN_ROOM_TTL_MS } from './options.ts'

/** How long the lock of one room lives, and how often its holder sends a heartbeat. Milliseconds. */
export interface Terms {
  readonly ttl: number
  readonly heartbeat: number
}

/** Other times for a room than those of the settings. Without a `heartbeat` it is a third of the `ttl`. */
export type RoomTerms = (
  room: string,
) => { readonly ttl?: Duration | undefined; readonly heartbeat?: Duration | undefined } | undefined

/** The terms of each room: those that the function returns, else those of the settings. */
export function termsOf(settings: Terms, roomTerms: RoomTerms | undefined): (room: string) => Terms {
  if (!roomTerms) return () => settings
  return (room) => {
    const given = roomTerms(room)
    if (given === undefined) return settings
    expectObject('roomTerms', given)
    expectOptions(given, { ttl: 1, heartbeat: 1 }, 'roomTerms.')
    const ttl =
      given.ttl === undefined ? settings.ttl : expectDuration('roomTerms.ttl', given.ttl, MIN_ROOM_TTL_MS)
    const heartbeat =
      given.heartbeat === undefined
        ? Math.min(settings.heartbeat, Math.floor(ttl / HEARTBEATS_PER_TTL))
        : expectDuration('roomTerms.heartbeat', given.heartbeat, MIN_HEARTBEAT_MS)
    if (heartbeat > ttl * MAX_HEARTBEAT_PART)
      refuse('roomTerms.heartbeat', `at most ${MAX_HEARTBEAT_PART} of the ttl of ${ttl} ms`, heartbeat)
    return { ttl, heartbeat }
  }
}
