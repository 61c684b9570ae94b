import { expectObject, refuse } from '../base/arguments.ts'
import { type Duration, expectDuration } from '../base/duration.ts'

/** How long the lock of one room lives, and how often its holder sends a heartbeat. Milliseconds. */
export interface Terms {
  readonly ttl: number
  readonly heartbeat: number
}

/** Other times for a room than those of the settings. Without a `heartbeat` it is a third of the `ttl`. */
export type RoomTerms = (
  room: string,
) => { readonly ttl?: Duration; readonly heartbeat?: Duration } | undefined

const MIN_TTL_MS = 1000
const MIN_HEARTBEAT_MS = 100

/** The terms of each room: those that the function returns, else those of the settings. */
export function termsOf(settings: Terms, roomTerms: RoomTerms | undefined): (room: string) => Terms {
  if (!roomTerms) return () => settings
  return (room) => {
    const given = roomTerms(room)
    if (given === undefined) return settings
    expectObject('roomTerms', given)
    const ttl =
      given.ttl === undefined ? settings.ttl : expectDuration('roomTerms.ttl', given.ttl, MIN_TTL_MS)
    const heartbeat =
      given.heartbeat === undefined
        ? Math.min(settings.heartbeat, Math.floor(ttl / 3))
        : expectDuration('roomTerms.heartbeat', given.heartbeat, MIN_HEARTBEAT_MS)
    if (heartbeat > ttl * 0.9) refuse('roomTerms.heartbeat', `at most 0.9 of the ttl of ${ttl} ms`, heartbeat)
    return { ttl, heartbeat }
  }
}
