/**
 * Requests for the lock: those to this tab while it holds the lock, and those that pass this tab in the queue. Loaded
 * with `holding.ts`: a tab that neither holds nor waits shows none.
 */
import type { Clock } from '../base/clock.ts'
import type { ApiResponse, Body } from './api.ts'
import { hasShape, isSameTab, personOf, type Shaped } from './lock-messages.ts'
import type { HandoffRequest } from './lock-state.ts'
import type { LockView } from './lock-view.ts'

export interface HandoffRequestsOptions {
  readonly clock: Clock
  readonly view: LockView
  /** Reads the lock. */
  readonly refresh: () => unknown
  /** The holder has asked this tab to wait. It answers within this time. */
  readonly onPostponed: (answerWithinMs: number) => void
}

const POSTPONED = { request_id: 'string', postponed_ms: 'number', answer_within_ms: 'number' } as const
const PENDING = { error: 'string', postponed_ms: 'number', answer_within_ms: 'number' } as const
const REQUEST = { request_id: 'string', answer_within_ms: 'number' } as const

type Field = 'request' | 'passedBy'

export class HandoffRequests {
  readonly #options: HandoffRequestsOptions
  readonly #cancels = { request() {}, passedBy() {} }
  #cancelPostponed = () => {}
  #wasAsked = false

  constructor(options: HandoffRequestsOptions) {
    this.#options = options
    options.view.subscribe(() => this.#onChange())
  }

  /** Every response to the holder has the oldest open request. */
  onResponse({ body }: ApiResponse): void {
    const { view } = this.#options
    if (!view.state.request && hasShape(body.request, REQUEST))
      view.change({ request: this.#requestOf(body.request) })
    // Also for a tab that does not get the event.
    if (body.error === 'handoff_pending' && hasShape(body, PENDING)) this.#wait(body)
  }

  onEvent(event: string, data: Body): void {
    if (event === 'document.takeover-requested' && hasShape(data, REQUEST)) this.#onRequested(data)
    if (event === 'document.takeover-postponed' && hasShape(data, POSTPONED)) this.#onPostponed(data)
    if (event === 'document.takeover-answered') {
      this.#changeRequest('request', data, null)
      this.#changeRequest('passedBy', data, null)
    }
  }

  #onRequested(data: Body & Shaped<typeof REQUEST>): void {
    const { view } = this.#options
    const { held, token, me, request } = view.state
    const asked = this.#requestOf(data)
    // One request at a time: the next one comes with the answer to a read when this one is over.
    if (held && data.token === token && !request) view.change({ request: asked })
    if (asked.passes.some((person) => isSameTab(person, me))) view.change({ passedBy: asked })
  }

  #onPostponed(data: Body & Shaped<typeof POSTPONED>): void {
    const { clock, view } = this.#options
    const now = clock.now()
    const postponedUntil = now + data.postponed_ms
    const times = { postponedUntil, until: now + data.answer_within_ms }
    this.#changeRequest('request', data, times)
    this.#changeRequest('passedBy', data, times)
    if (isSameTab(personOf(data.by), view.state.me)) this.#wait(data)
  }

  /** The holder has asked this tab for time. */
  #wait(data: Pick<Shaped<typeof POSTPONED>, 'postponed_ms' | 'answer_within_ms'>): void {
    const { clock, view, onPostponed } = this.#options
    if (view.state.demand !== 'asking') return
    view.change({ demand: 'postponed', postponedUntil: clock.now() + data.postponed_ms })
    onPostponed(data.answer_within_ms)
  }

  /** If the event is about the open request. `null`: that request is over. */
  #changeRequest(field: Field, { request_id: id }: Body, change: Partial<HandoffRequest> | null): void {
    const { view } = this.#options
    const { [field]: open } = view.state
    if (open?.id === id) view.change({ [field]: change && { ...open, ...change } })
  }

  #requestOf(data: Body & Shaped<typeof REQUEST>): HandoffRequest {
    const { clock, view } = this.#options
    const by = personOf(data.by)
    return {
      id: data.request_id,
      name: by.name,
      kind: data.kind === 'takeover' ? 'takeover' : 'request',
      until: clock.now() + data.answer_within_ms,
      isOwn: by.sessionId === view.state.me?.sessionId,
      passes: Array.isArray(data.passes) ? data.passes.map(personOf) : [],
      postponedUntil: typeof data.postponed_ms === 'number' ? clock.now() + data.postponed_ms : null,
    }
  }

  #onChange(): void {
    const { view, refresh } = this.#options
    const { request, passedBy, phase } = view.state
    // Another one may be open.
    if (this.#wasAsked && !request) refresh()
    this.#wasAsked = request !== null
    if (passedBy && phase !== 'waiting') view.change({ passedBy: null })
    this.#endInTime('request')
    this.#endInTime('passedBy')
    this.#askAgainInTime()
  }

  /** When the time is over that the holder has asked for, it is asked again. */
  #askAgainInTime(): void {
    const { clock, view } = this.#options
    const { request, demand, postponedUntil } = view.state
    this.#cancelPostponed()
    const until = request?.postponedUntil ?? (demand === 'postponed' ? postponedUntil : null)
    if (until === null) return
    const askAgain = () => {
      const { request, demand } = view.state
      view.change({
        request: request && { ...request, postponedUntil: null },
        demand: demand === 'postponed' ? 'asking' : demand,
        postponedUntil: null,
      })
    }
    this.#cancelPostponed = clock.setTimer(askAgain, Math.max(0, until - clock.now()), true)
  }

  /** A request that was not answered in time is over. */
  #endInTime(field: Field): void {
    const { clock, view } = this.#options
    const { [field]: open } = view.state
    this.#cancels[field]()
    const end = () => view.change({ [field]: null })
    this.#cancels[field] = open ? clock.setTimer(end, Math.max(0, open.until - clock.now()), true) : () => {}
  }
}
