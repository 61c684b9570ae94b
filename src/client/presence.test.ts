import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { createLockView, type LockView } from './lock-view.ts'
import { followPeople } from './presence.ts'

const ME = { sessionId: 's1', clientId: 'c1', name: 'Mika' }
const AOI = { sessionId: 's2', clientId: 'c2', name: 'Aoi' }
const HOLDER = { ...ME, token: 7, since: 0, expiresAt: 0, isMe: true }

let view: LockView
let onEvent: ReturnType<typeof followPeople>
beforeEach(() => {
  view = createLockView(new FakeClock(0))
  onEvent = followPeople(view)
  view.change({ me: ME })
})
const members = (names: Readonly<Record<string, unknown>>) =>
  onEvent('pusher_internal:subscription_succeeded', {
    presence: { hash: Object.fromEntries(Object.entries(names).map(([id, name]) => [id, { name }])) },
  })
const seen = () => view.state.people.map(({ name, role, place, isMe }) => [name, role, place, isMe])

describe('the people in view of a document', () => {
  it('the people in view of a document are the editor, the waiters in their order, and the others, each once', () => {
    members({ s1: 'Mika', s2: 'Aoi', s3: 'Ria' })
    view.dispatch({ type: 'holder', holder: HOLDER })
    view.dispatch({
      type: 'queue',
      queue: { waiting: 2, waiters: [AOI, { ...AOI, clientId: 'c9' }] },
      place: null,
    })
    expect(seen()).toEqual([
      ['Mika', 'editing', null, true],
      ['Aoi', 'waiting', 0, false],
      ['Ria', 'viewing', null, false],
    ])
  })

  it('a tab that has lost the lock is not the editor any more, also while it hears of no other one', () => {
    members({ s1: 'Mika', s2: 'Aoi' })
    view.dispatch({ type: 'granted', token: HOLDER.token })
    view.dispatch({ type: 'holder', holder: HOLDER })
    const isOver = () =>
      expect(seen()).toEqual([
        ['Mika', 'viewing', null, true],
        ['Aoi', 'viewing', null, false],
      ])
    view.dispatch({ type: 'lost', error: null })
    isOver()
    view.dispatch({ type: 'acquiring' })
    isOver()
  })

  it('the people in view of a document come and go, and a new connection brings the whole list', () => {
    members({ s2: 'Aoi' })
    onEvent('pusher_internal:member_added', { user_id: 's3', user_info: { name: 'Ria' } })
    expect(seen().map(([name]) => name)).toEqual(['Aoi', 'Ria'])
    onEvent('pusher_internal:member_removed', { user_id: 's2' })
    expect(seen().map(([name]) => name)).toEqual(['Ria'])
    members({ s4: 'Noor' })
    expect(seen().map(([name]) => name)).toEqual(['Noor'])
  })

  it('the people in view of a document are the editor and the waiters where nobody says who looks', () => {
    onEvent('pusher_internal:subscription_succeeded', {})
    view.dispatch({ type: 'holder', holder: { ...HOLDER, ...AOI, isMe: false } })
    expect(seen()).toEqual([['Aoi', 'editing', null, false]])
  })

  it.each([
    ['pusher_internal:subscription_succeeded', { presence: 5 }],
    ['pusher_internal:subscription_succeeded', { presence: { hash: { s2: null } } }],
    ['pusher_internal:member_added', { user_id: 's2', user_info: { name: 5 } }],
  ])('the people in view of a document have no name that is not a text: %s %j', (event, data) => {
    onEvent(event, data)
    expect(view.state.people.every(({ name }) => name === null)).toBe(true)
  })

  it('the people in view of a document are not those whose id is no text', () => {
    for (const user_id of [5, { toString: null }])
      for (const event of ['added', 'removed']) onEvent(`pusher_internal:member_${event}`, { user_id })
    expect(seen()).toEqual([])
  })

  it('change nothing in the state when nothing changes', () => {
    members({ s2: 'Aoi' })
    const { people } = view.state
    members({ s2: 'Aoi' })
    view.change({ connected: true })
    expect(view.state.people).toBe(people)
  })

  it('the people in view of a document are at most 100', () => {
    members(Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`v${n}`, `Viewer ${n}`])))
    expect(view.state.people).toHaveLength(100)
  })
})
