import { type Moment, moment } from '../base/clock.ts'
import { type Clock, LeaseError, type LeaseRecord, type Renewal } from '../core/index.ts'
import type { KeepStore } from '../core/keep-lease.ts'
import { type Answer, type Api, type Fields, unexpected } from './api.ts'

export interface Grant {
  readonly lease: LeaseRecord
  /** From before the request went out: what the deadline is counted from. */
  readonly sent: Moment
}

export interface LockCalls extends KeepStore {
  /** One question; `null` when another has the lock, or `wait` milliseconds in line were not enough. */
  ask(wait: number, signal?: AbortSignal): Promise<Grant | null>
  /** The lease that this tab has had, if it is still its own. */
  resume(): Promise<Grant | null>
  /** Asks for what another has. Answered when that is decided. */
  demand(how: 'takeover' | 'request', signal: AbortSignal): Promise<Answer>
  /** Says who has it. */
  look(): Promise<void>
  /** Gives up whatever this tab has or waits for. */
  withdraw(): Promise<void>
}

export interface LockCallsOptions {
  readonly api: Api
  readonly roomId: string
  /** What others are to see of who asks. */
  readonly name: () => string | undefined
  readonly clock: Clock
  /** Called before a request goes out; what it returns goes with the answer. */
  readonly onAsk: () => number
  readonly onAnswer: (answer: Answer, askedAt: number) => void
}

/** What an answer may take beyond the time that it was asked to wait. */
const ANSWER_MS = 10_000
/** The longest that a holder may be given to answer or to save. */
const DECISION_MS = 310_000

const NO_SESSION = "the session cookie is not kept; give headers: { authorization: 'Bearer …' }"

export function documentPath(roomId: string): string {
  return `api/documents/${encodeURIComponent(roomId)}`
}

/** What the server is asked about one lock. It knows a holder by session and tab, not by the id of a lease. */
export function lockCalls({ api, roomId, name, clock, onAsk, onAnswer }: LockCallsOptions): LockCalls {
  const path = `${documentPath(roomId)}/lock`
  let session: unknown
  let isKnown = false

  return {
    async ask(wait, signal) {
      const sent = moment(clock)
      const query = wait > 0 ? `?wait=${Math.ceil(wait) / 1000}` : ''
      const answer = await post(path + query, wait + ANSWER_MS, signal)
      return answer.status === 409 ? null : { lease: leaseOf(answer), sent }
    },

    async resume() {
      const sent = moment(clock)
      const renewal = await renew()
      return renewal.ok ? { lease: renewal.lease, sent } : null
    },

    demand: (how, signal) => post(`${path}/${how}`, DECISION_MS, signal),

    renew,

    async release({ id }) {
      const body = { token: Number(id) }
      const answer = await api({ method: 'POST', path: `${path}/release`, body, keepalive: true })
      // Another's, or one of a later grant: it is not ours to end.
      if (![200, 403, 409].includes(answer.status)) throw unexpected(answer)
      return { ended: { state: 'released' } }
    },

    look,

    async withdraw() {
      await api({ method: 'DELETE', path, keepalive: true })
    },
  }

  async function look(): Promise<void> {
    const { body } = await told(() => api({ method: 'GET', path }))
    const { session_id } = Object(body.you) as Fields
    isKnown = session_id === session
    session = session_id
  }

  /** Where every answer comes with another session, a lock could neither be kept nor given back: none is asked for. */
  async function post(path: string, limit: number, signal?: AbortSignal): Promise<Answer> {
    // It may change once: another tab got its cookie at the same time, or somebody signed in.
    for (let looks = 0; !isKnown; looks++) {
      if (looks > 1) throw new LeaseError('store-failed', NO_SESSION)
      await look()
    }
    return told(() => api({ method: 'POST', path, body: { name: name() }, signal, limit }))
  }

  async function told(call: () => Promise<Answer>): Promise<Answer> {
    const askedAt = onAsk()
    const answer = await call()
    onAnswer(answer, askedAt)
    return answer
  }

  async function renew(): Promise<Renewal> {
    const answer = await told(() => api({ method: 'PUT', path, body: {} }))
    // None, expired, another's, or not allowed any more: the heartbeat ends.
    const isOver = answer.status === 403 || answer.status === 404
    return isOver ? { ok: false, holder: null } : { ok: true, lease: leaseOf(answer) }
  }

  function leaseOf(answer: Answer): LeaseRecord {
    const { token, locked_at, expires_at, expires_in_ms } = answer.body
    if (answer.status !== 200) throw unexpected(answer)
    if (typeof token !== 'number' || typeof expires_in_ms !== 'number')
      throw new LeaseError('store-failed', 'the server granted no token or end')
    return {
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
  }
}
