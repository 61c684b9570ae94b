import type { Settings } from '../../configuration/settings.ts'
import type { LeaseRecord } from '../../core/index.ts'
import {
  type AlreadyLocked,
  type LockGranted,
  type LockState,
  type Person,
  roomChannel,
} from '../../protocol/index.ts'
import { personOf, timesOf } from '../announcer.ts'
import { HttpError } from '../http/http-error.ts'
import type { Reply } from '../http/route.ts'
import type { Locking, Party, Unlocking } from '../locks.ts'

/** Of all calls about a room's lock. */
export const LOCK_PATH = '/api/documents/{roomId}/lock'

/** Who asks, about which room. */
interface Caller {
  readonly room: string
  readonly party: Party
}

/** What a browser is told of a lock. */
export class LockReplies {
  readonly #settings: Settings

  constructor(settings: Settings) {
    this.#settings = settings
  }

  locking(locking: Locking, caller: Caller): Reply {
    return locking.granted ? this.#granted(locking.lease, caller) : this.#refused(locking, caller)
  }

  state(lease: LeaseRecord | null, isYou: boolean, caller: Caller, waiting: Person[]): Reply {
    const common = { waiting, ...this.#terms(caller) }
    const body: LockState = lease
      ? {
          is_locked: true,
          ...timesOf(lease),
          token: lease.token,
          holder: { ...personOf(lease), is_you: isYou },
          ...common,
        }
      : { is_locked: false, ...common }
    return { body }
  }

  #granted(lease: LeaseRecord, caller: Caller): Reply {
    const { token } = lease
    const body: LockGranted = { success: true, ...timesOf(lease), token, ...this.#terms(caller) }
    return { body }
  }

  #refused({ holder, place }: Locking & { granted: false }, caller: Caller): Reply {
    const body: AlreadyLocked = {
      error: 'already_locked',
      message: holder ? 'another has locked this document' : 'the lock is kept for the first in line',
      ...(holder && { ...timesOf(holder), holder: { ...personOf(holder), is_you: false } }),
      place,
      ...this.#terms(caller),
    }
    return { status: 409, body }
  }

  #terms({ room, party }: Caller) {
    const { ttl, heartbeat, channelKey, publicChannels } = this.#settings
    const channel = `${publicChannels ? '' : 'private-'}${roomChannel(room)}`
    return { ttl_ms: ttl, heartbeat_ms: heartbeat, channel, channel_key: channelKey, you: party.person }
  }
}

/** The name that a caller gives itself, unless it is known by another. */
export function named(party: Party, name: string | undefined): Party {
  return name === undefined ? party : { ...party, person: { name, ...party.person } }
}

export function unlockingReply(unlocking: Unlocking): Reply {
  if (unlocking === 'not-yours') throw notYours()
  if (unlocking === 'stale') throw staleToken()
  return { body: { success: true } }
}

export function notYours(): HttpError {
  return new HttpError(403, 'not_locked_by_user', 'the lock is not yours')
}

export function lockNotFound(): HttpError {
  return new HttpError(404, 'lock_not_found', 'there is no lock, or it has expired')
}

export function staleToken(): HttpError {
  return new HttpError(409, 'stale_token', 'a newer lock than yours exists')
}
