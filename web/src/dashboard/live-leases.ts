import * as v from 'valibot'
import { randomId } from '../../../src/base/random-id.ts'
import { type Api, type ApiRequest, createApi, unexpected } from '../../../src/client/api.ts'
import { Socket } from '../../../src/client/socket.ts'
import { systemClock } from '../../../src/core/index.ts'
import {
  type AuditEntry,
  auditPage,
  LEASES_CHANNEL,
  leaseChangeEvent,
  lockShown,
  locksListed,
  type ObservedLease,
  type Stats,
  stats as statsSchema,
  type Viewer,
} from '../../../src/protocol/index.ts'
import { SERVICE_URL } from '../ui/service-url.ts'
import { type DashboardEvent, PushedEvents, withTrail } from './timeline.ts'
import { UpdatePace } from './update-pace.ts'
import { WhileVisible } from './while-visible.ts'

const PAGE = 1000
const TRY_AGAIN_MS = 2000
/** A server that needs longer is asked again. */
const FIGURES_WITHIN_MS = 5000

export const RANGES = ['15m', '24h'] as const
export type Range = (typeof RANGES)[number]

/** A lease as the table shows it. Its times are on this machine's clock. */
export interface LiveLease extends ObservedLease {
  readonly since: number
  readonly endsAt: number | null
  /** The time left when the server reported it: the full length of the bar. */
  readonly span: number | null
}

/** The waiters of a resource, and the people who have its room open. */
export interface Crowd {
  /** `null`: the store keeps no queue. */
  readonly waiting: number | null
  /** First in line first. */
  readonly queue: readonly Waiter[]
  readonly viewers: readonly Viewer[]
}

export interface Waiter extends Pick<ObservedLease, 'owner' | 'share'> {
  readonly place: number
  readonly name?: string | undefined
}

export interface DashboardState {
  /** `signed-out`: the server requires a token. */
  readonly phase: 'loading' | 'live' | 'offline' | 'signed-out'
  readonly isLoaded: boolean
  readonly leases: readonly LiveLease[]
  readonly events: readonly DashboardEvent[]
  /** The last 15 minutes. */
  readonly stats: Stats | null
  /** The time range of the plots. `null` until it has been read. */
  readonly plotted: Stats | null
  readonly range: Range
  /** `null`: the server does not show it. */
  readonly audit: readonly AuditEntry[] | null
}

export const LOADING: DashboardState = {
  phase: 'loading',
  isLoaded: false,
  leases: [],
  events: [],
  stats: null,
  plotted: null,
  range: '15m',
  audit: [],
}

/** Everything that the dashboard shows: read once, then updated by push. */
export class LiveLeases {
  readonly #api: Api
  /** By `leaseKey`. */
  readonly #leases = new Map<string, LiveLease>()
  readonly #listeners = new Set<() => void>()
  readonly #pace = new UpdatePace(() => this.#showLeases())
  /** Changes that arrived while the list was read: they are newer than the list. */
  #changesDuringRead: Map<string, LiveLease | null> | undefined
  #isClosed = false
  #socket: Socket | undefined
  #figures: WhileVisible | undefined
  #state: DashboardState = LOADING
  readonly #events = new PushedEvents()
  #heardAt = Date.now()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(token: string) {
    const headers = token ? { authorization: `Bearer ${token}` } : {}
    this.#api = createApi({ url: SERVICE_URL, clientId: randomId(), headers: () => headers })
    void this.#start()
  }

  get state(): DashboardState {
    return this.#state
  }

  /** When the server last answered or told something. */
  get heardAt(): number {
    return this.#heardAt
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The plots cover this time from now on. */
  showRange(range: Range): void {
    this.#change({ range, plotted: range === '15m' ? this.#state.stats : null })
    void this.#readStats()
  }

  async crowdOf(resource: string): Promise<Crowd> {
    const path = `api/locks/${encodeURIComponent(resource)}`
    return this.#ask(lockShown, { method: 'GET', path })
  }

  /** What the audit trail knows of one resource, newest first. */
  async history(resource: string): Promise<readonly AuditEntry[]> {
    const query = new URLSearchParams({ resource, limit: '50' })
    return (await this.#ask(auditPage, { method: 'GET', path: `api/audit?${query}` })).entries
  }

  /** Ends this lease, never a later one of the resource. */
  async release({ resource, token }: ObservedLease): Promise<void> {
    const path = `api/leases?${new URLSearchParams({ resource })}`
    const answer = await this.#api({ method: 'DELETE', path, body: { token } })
    if (answer.status !== 200) throw unexpected(answer)
    await this.#readAudit()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#figures?.close()
    this.#pace.close()
    this.#listeners.clear()
    this.#socket?.close()
  }

  async #start(): Promise<void> {
    await this.#readStats()
    if (this.#isOver) return
    const { stats } = this.#state
    if (!stats) {
      this.#change({ phase: 'offline' })
      this.#timer = setTimeout(() => void this.#start(), TRY_AGAIN_MS)
      return
    }
    const { promise: joined, resolve, reject } = Promise.withResolvers<void>()
    const socket = new Socket({
      url: SERVICE_URL,
      key: stats.channel_key,
      channels: [LEASES_CHANNEL],
      clock: systemClock,
      api: this.#api,
      onEvent: (event, data) => this.#onEvent(event, data),
      onJoined: (again) => (again ? void this.#readAll() : resolve()),
      onRefused: reject,
      onConnection: (connected) => this.#onConnection(connected),
    })
    this.#socket = socket
    socket.open()
    try {
      await joined
    } catch {
      socket.close()
      if (!this.#isClosed) this.#change({ phase: 'signed-out' })
      return
    }
    await this.#readAll()
    if (!this.#isOver) this.#figures = new WhileVisible(() => this.#readFigures())
  }

  /** Before the first connection the page is still loading. */
  #onConnection(connected: boolean): void {
    if (connected) this.#change({ phase: 'live' })
    else if (this.#state.phase === 'live') this.#change({ phase: 'offline' })
  }

  async #readAll(): Promise<void> {
    const changes = new Map<string, LiveLease | null>()
    this.#changesDuringRead = changes
    const found = await this.#list().catch(() => null)
    if (this.#isClosed || this.#changesDuringRead !== changes) return
    if (!found) {
      setTimeout(
        () => !this.#isClosed && this.#changesDuringRead === changes && void this.#readAll(),
        TRY_AGAIN_MS,
      )
      return
    }
    this.#changesDuringRead = undefined
    this.#leases.clear()
    for (const lease of found) this.#leases.set(leaseKey(lease), lease)
    for (const [key, lease] of changes)
      if (lease) this.#leases.set(key, lease)
      else this.#leases.delete(key)
    this.#pace.updateSoon()
  }

  async #list(): Promise<LiveLease[]> {
    const found: LiveLease[] = []
    for (let after: string | undefined; ; ) {
      const query = new URLSearchParams({ limit: String(PAGE), ...(after !== undefined && { after }) })
      const page = await this.#ask(locksListed, { method: 'GET', path: `api/locks?${query}` })
      found.push(...page.locks.map(liveLease))
      after = page.next
      if (after === undefined) return found
    }
  }

  async #readFigures(): Promise<void> {
    await this.#readStats()
    if (this.#isOver) this.#figures?.close()
    else await this.#readAudit()
  }

  async #readStats(): Promise<void> {
    const { range } = this.#state
    const read = (range: Range) =>
      this.#ask(statsSchema, {
        method: 'GET',
        path: `api/stats?range=${range}`,
        limit: FIGURES_WITHIN_MS,
      })
    try {
      const stats = await read('15m')
      const plotted = range === '15m' ? stats : await read(range)
      this.#change({ stats, ...(this.#state.range === range && { plotted }) })
    } catch (error) {
      if (error instanceof NotAllowed) this.#change({ phase: 'signed-out' })
    }
  }

  get #isOver(): boolean {
    return this.#isClosed || this.#state.phase === 'signed-out'
  }

  async #readAudit(): Promise<void> {
    try {
      const { entries } = await this.#ask(auditPage, { method: 'GET', path: 'api/audit' })
      this.#change({ audit: entries, events: withTrail(this.#events.read(), entries) })
    } catch (error) {
      if (error instanceof NotAllowed) this.#change({ audit: null })
    }
  }

  /** The response, checked. Rejects with `NotAllowed` if the server does not accept the token. */
  async #ask<Schema extends v.GenericSchema>(
    schema: Schema,
    request: ApiRequest,
  ): Promise<v.InferOutput<Schema>> {
    const answer = await this.#api(request)
    this.#heardAt = Date.now()
    if (answer.status === 401 || answer.status === 403) throw new NotAllowed()
    const { success, output } = v.safeParse(schema, answer.body)
    if (answer.status !== 200 || !success) throw unexpected(answer)
    return output
  }

  #onEvent(event: string, data: object): void {
    this.#heardAt = Date.now()
    if (event === 'lease.gap') void this.#readAll()
    if (event !== 'lease.change' || !v.is(leaseChangeEvent, data)) return
    const { lease } = data
    const key = leaseKey(lease)
    const isShown = lease.state === 'held' || lease.state === 'kept'
    const what = whatHappened(lease, this.#leases.get(key))
    if (what !== 'renewed') this.#figures?.hurry()
    if (isShown) this.#leases.set(key, liveLease(lease))
    else this.#leases.delete(key)
    this.#changesDuringRead?.set(key, isShown ? liveLease(lease) : null)
    this.#events.add(lease, what)
    this.#pace.updateSoon()
  }

  #showLeases(): void {
    const isLoaded = this.#changesDuringRead === undefined
    const events = withTrail(this.#events.read(), this.#state.audit ?? [])
    this.#change({ leases: [...this.#leases.values()], events, isLoaded })
  }

  #change(change: Partial<DashboardState>): void {
    this.#state = { ...this.#state, ...change }
    for (const listener of this.#listeners) listener()
  }
}

class NotAllowed extends Error {}

function whatHappened({ state }: ObservedLease, before: LiveLease | undefined): DashboardEvent['what'] {
  if (state === 'held') return before ? 'renewed' : 'granted'
  return before?.state === 'kept' && state !== 'kept' ? 'freed' : state
}

/** A resource may have several leases. */
export function leaseKey({ resource, token }: Pick<ObservedLease, 'resource' | 'token'>): string {
  return `${token} ${resource}`
}

function liveLease(lease: ObservedLease): LiveLease {
  const { remaining, acquiredAt, expiresAt } = lease
  const now = Date.now()
  // The time on the server's clock when it answered. Our clock may differ.
  const toldAt = remaining === null || expiresAt === null ? now : expiresAt - remaining
  const endsAt = remaining === null ? null : now + remaining
  return { ...lease, since: now - (toldAt - acquiredAt), endsAt, span: remaining }
}
