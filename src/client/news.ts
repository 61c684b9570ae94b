/** What the server's answers and events mean for the state. */
import type { Answer, Fields } from './api.ts'
import type {
  DocumentHolder,
  DocumentLockAction,
  DocumentLockState,
  HandOverRequest,
  Person,
} from './state.ts'

/** Every answer about the lock says who has it, but for those that say nothing. */
export function newsOfAnswer(
  { status, body }: Answer,
  state: DocumentLockState,
  now: number,
): DocumentLockAction[] {
  const news: DocumentLockAction[] = []
  const me = body.you === undefined ? state.me : personOf(body.you)
  if (me !== state.me) news.push({ type: 'news', news: { me } })
  if (body.is_locked === false || status === 404) news.push({ type: 'holder', holder: null })
  else if (typeof body.expires_in_ms === 'number') {
    // A grant and a renewal are the caller's own, and do not say so.
    const { is_you: isMe } = Object(body.holder ?? { is_you: true })
    const holder = holderOf(body, isMe === true, now)
    news.push({ type: 'holder', holder: isMe ? { ...holder, ...me } : holder })
  }
  if (Array.isArray(body.waiting)) news.push(lineNews(body.waiting, me))
  if (typeof body.place === 'number') news.push({ type: 'line', waiting: state.waiting, place: body.place })
  return news
}

export function newsOfEvent(
  event: string,
  data: Fields,
  { token, phase, holder, me, request }: DocumentLockState,
  now: number,
): DocumentLockAction[] {
  const isMine = phase === 'held' && data.token === token
  switch (plainName(event)) {
    case 'document.locked':
      return [{ type: 'holder', holder: holderOf(data, isMine, now) }]
    case 'document.unlocked':
      return holder && holder.token > Number(data.token) ? [] : [{ type: 'holder', holder: null }]
    case 'document.line':
      return Array.isArray(data.line) ? [lineNews(data.line, me)] : []
    case 'document.saved':
      return [{ type: 'news', news: { savedAt: text(data.saved_at) } }]
    case 'document.takeover-requested':
      // One after the other: who comes second is not answered.
      return isMine && !request ? [{ type: 'news', news: { request: requestOf(data, now) } }] : []
    case 'document.takeover-answered':
      return request?.id === data.request_id ? [{ type: 'news', news: { request: null } }] : []
    default:
      return []
  }
}

/** Another's grant ends every older lease; an unlock that we did not ask for ends its own. */
export function endsLease(event: string, data: Fields, token: number): boolean {
  const name = plainName(event)
  const other = Number(data.token)
  return (name === 'document.locked' && other > token) || (name === 'document.unlocked' && other >= token)
}

function holderOf(data: Fields, isMe: boolean, now: number): DocumentHolder {
  return {
    ...personOf(data.holder ?? data),
    token: Number(data.token ?? 0),
    since: Date.parse(String(data.locked_at)),
    expiresAt: now + Number(data.expires_in_ms),
    isMe,
  }
}

function requestOf(data: Fields, now: number): HandOverRequest {
  return {
    id: String(data.request_id),
    name: personOf(data.by).name,
    kind: data.kind === 'takeover' ? 'take-over' : 'request',
    until: now + Number(data.answer_within_ms),
  }
}

function lineNews(line: readonly unknown[], me: Person | null): DocumentLockAction {
  const place = line
    .map(personOf)
    .findIndex(({ sessionId, clientId }) => sessionId === me?.sessionId && clientId === me.clientId)
  return { type: 'line', waiting: line.length, place: place < 0 ? null : place }
}

function personOf(value: unknown): Person {
  const { session_id, client_id, name } = Object(value) as Fields
  return { sessionId: text(session_id) ?? '', clientId: text(client_id), name: text(name) }
}

/** Also of a server that names its events for Laravel: `App\\Events\\DocumentTakeoverRequested`. */
function plainName(event: string): string {
  const words = /^App\\Events\\Document(\w+)$/.exec(event)?.[1]?.match(/[A-Z][a-z]*/g)
  return words ? `document.${words.join('-').toLowerCase()}` : event
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
