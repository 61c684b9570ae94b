/**
 * Requests for the lock: those to this tab while it holds the lock, and those that pass this tab in the queue. Loaded
 * with `holding.ts`: a tab that neither holds nor waits shows none.
 */
import type { Clock } from '../base/clock.ts'
import type { ApiResponse, Body } from './api.ts'
import { hasShape, personOf, type Shaped } from './lock-messages.ts'
import type { HandoffRequest, Person } from './lock-state.ts'
import type { LockView } from './lock-view.ts'

export interface HandOverRequestsOptions {
  readonly clock: Clock
  readonly view: LockView
  /** Reads the lock. */
  readonly refresh: () => unknown
  /** The holder has asked this tab to wait. It answers within this time. */
  readonly onPostponed: (answerWithinMs: number) => void
}

const POSTPONED = { request_id: 'string', postponed_ms: 'number', answer_within_ms: 'number' } as const
const REQUEST = { request_id: 'string', answer_within_ms: 'number' } as const

export function followHandOverRequests({ clock, view, refresh, onPostponed }: HandOverRequestsOptions) {
  const cancels = { request: () => {}, passedBy: () => {} }
  let cancelPostponed = () => {}
  let wasAsked = false
  view.subscribe(() => {
    const { request, passedBy, phase } = view.state
    // Another one may be open.
    if (wasAsked && !request) refresh()
    wasAsked = request !== null
    if (passedBy && phase !== 'waiting') view.change({ passedBy: null })
    endInTime('request')
    endInTime('passedBy')
    askAgainInTime()
  })

  return {
    /** Every response to the holder has the oldest open request. */
    onResponse({ body }: ApiResponse): void {
      if (!view.state.request && hasShape(body.request, REQUEST))
        view.change({ request: requestOf(body.request) })
    },

    onEvent(event: string, data: Body): void {
      const { held, token, me, request, passedBy } = view.state
      if (event === 'document.takeover-requested' && hasShape(data, REQUEST)) {
        const asked = requestOf(data)
        // One request at a time: the next one comes with the answer to a read when this one is over.
        if (held && data.token === token && !request) view.change({ request: asked })
        if (asked.passes.some((person) => isSameTab(person, me))) view.change({ passedBy: asked })
      }
      if (event === 'document.takeover-postponed' && hasShape(data, POSTPONED)) {
        const now = clock.now()
        const postponedUntil = now + data.postponed_ms
        const change = { postponedUntil, until: now + data.answer_within_ms }
        if (request?.id === data.request_id) view.change({ request: { ...request, ...change } })
        if (passedBy?.id === data.request_id) view.change({ passedBy: { ...passedBy, ...change } })
        if (view.state.demand === 'asking' && isSameTab(personOf(data.by), me)) {
          view.change({ demand: 'postponed', postponedUntil })
          onPostponed(data.answer_within_ms)
        }
      }
      if (event === 'document.takeover-answered') {
        if (request?.id === data.request_id) view.change({ request: null })
        if (passedBy?.id === data.request_id) view.change({ passedBy: null })
      }
    },
  }

  function requestOf(data: Body & Shaped<typeof REQUEST>): HandoffRequest {
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

  /** When the time is over that the holder has asked for, it is asked again. */
  function askAgainInTime(): void {
    cancelPostponed()
    const { request, demand, postponedUntil } = view.state
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
    cancelPostponed = clock.setTimer(askAgain, Math.max(0, until - clock.now()), true)
  }

  /** A request that was not answered in time is over. */
  function endInTime(field: 'request' | 'passedBy'): void {
    cancels[field]()
    const { [field]: open } = view.state
    const end = () => view.change({ [field]: null })
    cancels[field] = open ? clock.setTimer(end, Math.max(0, open.until - clock.now()), true) : () => {}
  }
}

export function isSameTab(a: Person, b: Person | null): boolean {
  return a.sessionId === b?.sessionId && a.clientId === b.clientId
}
