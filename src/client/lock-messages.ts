/** Checks the server's responses and events about a document's lock, and turns them into actions on the state. */
import { isObject } from '../base/arguments.ts'
import type { ApiResponse, Body } from './api.ts'
import type { DocumentHolder, DocumentLockAction, DocumentLockState, Person } from './lock-state.ts'

interface FieldTypes {
  readonly string: string
  readonly number: number
  readonly boolean: boolean
  /** Milliseconds between two requests: with 0 or less, the page would send one after the other. */
  readonly interval: number
}
export type Shape = Readonly<Record<string, keyof FieldTypes>>
export type Shaped<S extends Shape> = { readonly [Name in keyof S]: FieldTypes[S[Name]] }

/** Smaller than a validator: a page should load quickly. */
export function hasShape<V, S extends Shape>(value: V, shape: S): value is V & Shaped<S> {
  return isObject(value) && Object.entries(shape).every(([name, type]) => isOfType(value[name], type))
}

/** JSON has numbers that become infinite. */
function isOfType(value: unknown, type: keyof FieldTypes): boolean {
  if (type === 'interval') return Number.isFinite(value) && Number(value) >= 1
  return type === 'number' ? Number.isFinite(value) : typeof value === type
}

/** How the server keeps locks, and where it publishes the events of a room. */
export type RoomTerms = Shaped<typeof TERMS>
export const TERMS = {
  ttl_ms: 'interval',
  heartbeat_ms: 'interval',
  channel: 'string',
  channel_key: 'string',
} as const

export const TIMES = { locked_at: 'string', expires_in_ms: 'number' } as const

export function actionsOfResponse(
  { status, body }: ApiResponse,
  state: DocumentLockState,
  now: number,
): DocumentLockAction[] {
  const actions: DocumentLockAction[] = []
  const me = body.you === undefined ? state.me : personOf(body.you)
  if (me !== state.me) actions.push({ type: 'changed', change: { me } })
  if (body.is_locked === false || (status === 404 && body.error === 'lock_not_found'))
    actions.push({ type: 'holder', holder: null })
  else if (hasShape(body, TIMES)) {
    // A grant and a renewal name no holder: it is this tab.
    const { is_you: isMe } = Object(body.holder ?? { is_you: true })
    const holder = holderOf(body, isMe === true, now)
    // The server says a name only where it knows the person by one. The lock may have another, which others see.
    const known = state.holder?.token === holder.token ? state.holder.name : null
    const name = holder.name ?? me?.name ?? known
    actions.push({ type: 'holder', holder: isMe ? { ...holder, ...me, name } : holder })
  }
  if (Array.isArray(body.waiting)) actions.push(queueAction(body, body.waiting, me))
  if (typeof body.place === 'number') actions.push({ type: 'queue', place: body.place })
  return actions
}

/** `undefined`: the event changes nothing, or is malformed. */
export function actionOfEvent(
  event: string,
  data: Body,
  { token, held, holder, me, gaps }: DocumentLockState,
  now: number,
): DocumentLockAction | undefined {
  const isMine = held && data.token === token
  switch (event) {
    case 'document.locked':
    case 'document.renewed':
      return hasShape(data, TIMES) ? { type: 'holder', holder: holderOf(data, isMine, now) } : undefined
    case 'document.unlocked':
      return holder && holder.token > tokenOf(data) ? undefined : { type: 'holder', holder: null }
    case 'document.line':
      return Array.isArray(data.line) ? queueAction(data, data.line, me) : undefined
    case 'document.saved':
      return { type: 'changed', change: { savedAt: textOf(data.saved_at) } }
    case 'document.deleted':
      return { type: 'changed', change: { savedAt: null, gaps: gaps + 1 } }
  }
  return undefined
}

/** Whether this event ends the lease with this token: another tab was granted the lock, or it was unlocked. */
export function endsLease(event: string, data: Body, token: number): boolean {
  const latest = tokenOf(data)
  return (event === 'document.locked' && latest > token) || (event === 'document.unlocked' && latest >= token)
}

/** 0 if the message does not name a token. */
export function tokenOf({ token }: Body): number {
  return typeof token === 'number' ? token : 0
}

function holderOf(data: Body & Shaped<typeof TIMES>, isMe: boolean, now: number): DocumentHolder {
  return {
    ...personOf(data.holder ?? data),
    token: tokenOf(data),
    since: Date.parse(data.locked_at),
    expiresAt: now + data.expires_in_ms,
    isMe,
  }
}

/** The queue has only the first waiters. */
function queueAction(
  { waiting_count: count }: Body,
  queue: readonly unknown[],
  me: Person | null,
): DocumentLockAction {
  const waiters = queue.map(personOf)
  const place = waiters.findIndex((waiter) => isSameTab(waiter, me))
  const waiting = typeof count === 'number' ? count : queue.length
  return { type: 'queue', queue: { waiting, waiters }, place: place < 0 ? null : place }
}

export function personOf(value: unknown): Person {
  const { session_id, client_id, name } = Object(value) as Body
  return { sessionId: textOf(session_id) ?? '', clientId: textOf(client_id), name: textOf(name) }
}

export function isSameTab(a: Person, b: Person | null): boolean {
  return a.sessionId === b?.sessionId && a.clientId === b.clientId
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
