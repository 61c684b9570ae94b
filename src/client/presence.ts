/**
 * Who is in view: the one who edits, those who wait, and, with the option `presence`, those who only look. The members
 * of the room's presence channel are the people who have it open. Loaded with `holding.ts`.
 */
import type { Body } from './api.ts'
import type { Participant } from './lock-state.ts'
import type { LockView } from './lock-view.ts'
import { MAX_PEOPLE } from './rare-options.ts'

/** Returns a function that takes the events of the room's channel. */
export function followPeople(view: LockView): (event: string, data: Body) => void {
  /** The names of the members, by session. */
  const members = new Map<string, string | null>()
  view.subscribe(update)

  return (event, data) => {
    if (event === 'pusher_internal:subscription_succeeded') {
      members.clear()
      const { hash } = Object(data.presence)
      for (const [id, info] of Object.entries(Object(hash))) members.set(id, nameOf(info))
    } else if (typeof data.user_id !== 'string') return
    else if (event === 'pusher_internal:member_added') members.set(data.user_id, nameOf(data.user_info))
    else if (event === 'pusher_internal:member_removed') members.delete(data.user_id)
    else return
    update()
  }

  function update(): void {
    const people = peopleInView(view, members)
    if (JSON.stringify(people) !== JSON.stringify(view.state.people)) view.change({ people })
  }
}

/** One entry for each session: the editor first, then the waiters in their order, then the others. */
function peopleInView({ state }: LockView, members: ReadonlyMap<string, string | null>): Participant[] {
  const { holder, waiters, me, held, phase } = state
  const people = new Map<string, Participant>()
  const add = (sessionId: string, name: string | null, role: Participant['role'], place: number | null) => {
    if (people.has(sessionId) || people.size >= MAX_PEOPLE) return
    people.set(sessionId, { sessionId, name, role, place, isMe: sessionId === me?.sessionId })
  }
  // Without a connection, a tab that has lost the lock hears of no other holder, also when it asks again.
  const isLost = holder?.isMe && !held && phase !== 'idle'
  if (holder && !isLost)
    add(holder.sessionId, holder.name ?? members.get(holder.sessionId) ?? null, 'editing', null)
  for (const [place, { sessionId, name }] of waiters.entries()) add(sessionId, name, 'waiting', place)
  for (const [sessionId, name] of members) add(sessionId, name, 'viewing', null)
  return [...people.values()]
}

function nameOf(info: unknown): string | null {
  const { name } = Object(info)
  return typeof name === 'string' ? name : null
}
