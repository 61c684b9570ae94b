import {
  type Clock,
  LeaseError,
  type LeaseRecord,
  type LeaseStore,
  type Moment,
  moment,
} from '../core/index.ts'
import { type Answer, type Api, unexpected } from './api.ts'

export interface Grant {
  readonly lease: LeaseRecord
  /** From before the request went out: what the deadline is counted from. */
  readonly sent: Moment
}

export interface LockCalls extends Pick<LeaseStore, 'renew' | 'release'> {
  /** One question; `null` when another has the lock, or `wait` milliseconds in line were not enough. */
  ask(wait: number, signal: AbortSignal): Promise<Grant | null>
  /** Says who has it. */
  look(): Promise<void>
  /** Gives up whatever this tab has or waits for. */
  withdraw(): Promise<void>
}

export interface LockCallsOptions {
  readonly api: Api
  readonly roomId: string
  /** Sent with a request for the lock. */
  readonly body: object
  readonly clock: Clock
  readonly onAnswer: (answer: Answer) => void
}

export function documentPath(roomId: string): string {
  return `api/documents/${encodeURIComponent(roomId)}`
}

/** What the server is asked about one lock. It knows a holder by session and tab, not by the id of a lease. */
export function lockCalls({ api, roomId, body, clock, onAnswer }: LockCallsOptions): LockCalls {
  const path = `${documentPath(roomId)}/lock`
  let latest: LeaseRecord | null = null

  return {
    async ask(wait, signal) {
      const sent = moment(clock)
      const query = wait > 0 ? `?wait=${Math.ceil(wait) / 1000}` : ''
      const answer = await api({ method: 'POST', path: path + query, body, signal })
      onAnswer(answer)
      if (answer.status === 409) return null
      return { lease: leaseOf(answer), sent }
    },

    async renew() {
      const answer = await api({ method: 'PUT', path, body: {} })
      onAnswer(answer)
      // None, expired, or another's: the heartbeat ends.
      if (answer.status === 403 || answer.status === 404) return { ok: false, holder: null }
      return { ok: true, lease: leaseOf(answer) }
    },

    async release(by) {
      const body = { token: 'token' in by ? by.token : Number(by.id) }
      const answer = await api({ method: 'POST', path: `${path}/release`, body, keepalive: true })
      // Another's, or one of a later grant: it is not ours to end.
      if (![200, 403, 409].includes(answer.status)) throw unexpected(answer)
      return {
        ended: latest && answer.status === 200 ? { ...latest, state: 'released' } : null,
        holder: null,
      }
    },

    async look() {
      onAnswer(await api({ method: 'GET', path }))
    },

    async withdraw() {
      await api({ method: 'DELETE', path, keepalive: true })
    },
  }

  function leaseOf(answer: Answer): LeaseRecord {
    const { token, locked_at, expires_at, expires_in_ms } = answer.body
    if (answer.status !== 200) throw unexpected(answer)
    if (typeof token !== 'number' || typeof expires_in_ms !== 'number')
      throw new LeaseError('store-failed', 'the server granted a lock without a token or an end')
    latest = {
      resource: roomId,
      // The server releases by token.
      id: String(token),
      owner: '',
      token,
      metadata: null,
      acquiredAt: Date.parse(String(locked_at)),
      expiresAt: Date.parse(String(expires_at)),
      remaining: expires_in_ms,
      state: 'held',
    }
    return latest
  }
}
