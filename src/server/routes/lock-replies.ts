import type { LeaseRecord } from '../../base/records.ts'
import {
  type AlreadyLocked,
  type LockGranted,
  type LockRenewed,
  type LockState,
  type Person,
  roomChannel,
} from '../../protocol/index.ts'
import { personOf, timesOf } from '../announcer.ts'
import type { HttpErrorCode } from '../http/error-codes.ts'
import { HttpError } from '../http/http-error.ts'
import type { Reply } from '../http/route.ts'
import type { LockClient, LockResult, UnlockResult } from '../locks.ts'
import type { Service } from '../service.ts'

/** All requests about a room's lock begin with this path. */
export const LOCK_PATH = '/api/documents/{roomId}/lock'

/** What a reply about a lock is for. */
interface Subject {
  readonly room: string
  readonly client: LockClient
}

/** Answers to requests about a room's lock. */
export class LockReplies {
  readonly #service: Pick<Service, 'settings' | 'termsOf' | 'handoff'>

  constructor(service: Pick<Service, 'settings' | 'termsOf' | 'handoff'>) {
    this.#service = service
  }

  lock(result: LockResult, subject: Subject): Reply {
    return result.granted ? this.#granted(result.lease, subject) : this.#refused(result, subject)
  }

  state(
    lease: LeaseRecord | null,
    isYou: boolean,
    subject: Subject,
    { first, count }: { readonly first: Person[]; readonly count: number },
  ): Reply {
    const queue = { waiting: first, waiting_count: count }
    const asked = lease && isYou ? this.#asked(lease, subject.room) : {}
    const body: LockState = { ...this.lockOf(lease, isYou), ...asked, ...queue, ...this.#terms(subject) }
    return { body }
  }

  renewed(lease: LeaseRecord, room: string): LockRenewed {
    const { token } = lease
    return { success: true, ...timesOf(lease), token, ...this.#asked(lease, room) }
  }

  lockOf(lease: LeaseRecord | null, isYou: boolean) {
    if (!lease) return { is_locked: false } as const
    const { token } = lease
    return {
      is_locked: true,
      ...timesOf(lease),
      token,
      holder: { ...personOf(lease), is_you: isYou },
    } as const
  }

  #granted(lease: LeaseRecord, subject: Subject): Reply {
    const body: LockGranted = { ...this.renewed(lease, subject.room), ...this.#terms(subject) }
    return { body }
  }

  #asked({ token }: LeaseRecord, room: string): Pick<LockRenewed, 'request'> {
    const request = this.#service.handoff.requestTo(room, token)
    return request ? { request } : {}
  }

  #refused({ holders: [holder], place }: LockResult & { granted: false }, subject: Subject): Reply {
    const body: AlreadyLocked = {
      error: 'already_locked' satisfies HttpErrorCode,
      message: holder
        ? 'another client has locked this document'
        : 'the lock is reserved for the first waiter',
      ...(holder && { ...timesOf(holder), holder: { ...personOf(holder), is_you: false } }),
      place,
      ...this.#terms(subject),
    }
    return { status: 409, body }
  }

  #terms({ room, client }: Subject) {
    const { settings, termsOf } = this.#service
    const { grace, answerWithin, channelKey, publicChannels } = settings
    const { ttl, heartbeat } = termsOf(room)
    const channel = `${publicChannels ? '' : 'private-'}${roomChannel(room)}`
    return {
      ttl_ms: ttl,
      heartbeat_ms: heartbeat,
      grace_ms: grace,
      answer_within_ms: answerWithin,
      channel,
      channel_key: channelKey,
      you: client.person,
    }
  }
}

/** With the name that the request gives, unless the identity has a name. */
export function named(client: LockClient, name: string | undefined): LockClient {
  return name === undefined ? client : { ...client, person: { name, ...client.person } }
}

export function unlockReply(result: UnlockResult): Reply {
  if (result === 'not-yours') throw notYours()
  if (result === 'stale') throw staleToken()
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

/** Also for a lock whose fence was swept long after it had expired. */
export function unknownToken(): HttpError {
  return new HttpError(409, 'stale_token', 'no lock with this token is known; lock the document again')
}
