import { describe, expect, it } from 'vitest'
import { actionOfEvent, actionsOfResponse, endsLease, hasShape, TERMS } from './lock-messages.ts'
import { type DocumentLockState, INITIAL_STATE, reduce } from './lock-state.ts'

const NOW = 1_000_000
const LOCKED = {
  locked_at: '2030-01-01T12:04:00.000Z',
  expires_at: '2030-01-01T12:04:30.000Z',
  expires_in_ms: 30_000,
}
const ME = { sessionId: 's1', clientId: 'c1', name: 'Mika' }
const you = { session_id: 's1', client_id: 'c1', name: 'Mika' }
const other = { session_id: 's2', client_id: 'c2', name: 'Ken' }

function responded(
  status: number,
  body: object,
  state: DocumentLockState = INITIAL_STATE,
): DocumentLockState {
  return actionsOfResponse({ status, body }, state, NOW).reduce(reduce, state)
}

function received(event: string, data: object, state: DocumentLockState = INITIAL_STATE): DocumentLockState {
  const action = actionOfEvent(event, data, state, NOW)
  return action ? reduce(state, action) : state
}

const held: DocumentLockState = { ...INITIAL_STATE, phase: 'held', held: true, token: 7, me: ME }

describe('the terms of a lock', () => {
  const terms = { ttl_ms: 30_000, heartbeat_ms: 10_000, channel: 'c', channel_key: 'k' }

  it.each([0, -10_000, 0.5, Infinity, '10000', null])(
    'the terms of a lock have no heartbeat of %j',
    (heartbeat_ms) => {
      expect(hasShape(terms, TERMS)).toBe(true)
      expect(hasShape({ ...terms, heartbeat_ms }, TERMS)).toBe(false)
      expect(hasShape({ ...terms, ttl_ms: heartbeat_ms }, TERMS)).toBe(false)
    },
  )
})

describe('a response of the server', () => {
  it('says that nobody holds the document', () => {
    expect(responded(200, { is_locked: false, waiting: [], you })).toMatchObject({
      phase: 'idle',
      holder: null,
      me: ME,
    })
  })

  it('says who holds it, and until when on the local clock', () => {
    const body = {
      is_locked: true,
      ...LOCKED,
      token: 7,
      holder: { ...other, is_you: false },
      you,
      waiting: [other],
    }
    expect(responded(200, body)).toMatchObject({
      phase: 'read-only',
      holder: { sessionId: 's2', name: 'Ken', token: 7, expiresAt: NOW + 30_000, isMe: false },
      waiting: 1,
    })
  })

  it('a response of the server to a renewal keeps the name of a holder whose session has none', () => {
    const nameless = { ...ME, name: null }
    const told = { ...nameless, name: 'Mika', isMe: true, token: 7, since: 0, expiresAt: 0 }
    const state = { ...held, me: nameless, holder: told }
    expect(responded(200, { success: true, ...LOCKED, token: 7 }, state).holder?.name).toBe('Mika')
    // Another grant may have another name.
    expect(responded(200, { success: true, ...LOCKED, token: 8 }, state).holder?.name).toBeNull()
  })

  it('a response of the server to a grant or a renewal is about this tab', () => {
    const holder = { ...ME, isMe: true, token: 7, expiresAt: NOW + 30_000 }
    expect(responded(200, { success: true, ...LOCKED, token: 7, you })).toMatchObject({ holder })
    expect(responded(200, { success: true, ...LOCKED, token: 7 }, held)).toMatchObject({
      holder,
      phase: 'held',
    })
  })

  it('a response of the server to a refused request says the place in the queue', () => {
    const waiting = { ...INITIAL_STATE, phase: 'waiting' as const }
    expect(
      responded(409, { error: 'already_locked', ...LOCKED, holder: other, place: 2 }, waiting),
    ).toMatchObject({
      phase: 'waiting',
      place: 2,
    })
  })

  it.each([
    [200, {}],
    [200, { holder: 5 }],
    [200, { waiting: 'x' }],
    [200, { you: null }],
    [200, { expires_in_ms: '1' }],
    [200, { expires_in_ms: 30_000 }],
    [404, {}],
  ])('a response of the server that is malformed changes neither phase nor holder: %i %j', (status, body) => {
    const readOnly = responded(200, { is_locked: true, ...LOCKED, token: 7, holder: other })
    expect(responded(status, body, readOnly)).toMatchObject({ phase: 'read-only', holder: { token: 7 } })
  })
})

describe('an event of the server', () => {
  it('an event of the server reports a lock and its end', () => {
    const locked = received('document.locked', { ...LOCKED, token: 7, holder: other })
    expect(locked).toMatchObject({ phase: 'read-only', holder: { name: 'Ken' } })
    expect(received('document.unlocked', { token: 7 }, locked)).toMatchObject({ phase: 'idle', holder: null })
  })

  it('an event about an older lock does not hide a newer one', () => {
    const locked = received('document.locked', { ...LOCKED, token: 8, holder: other })
    expect(received('document.unlocked', { token: 7 }, locked).holder).toMatchObject({ token: 8 })
  })

  it('an event of the server names the waiters, and the place of this tab', () => {
    const waiting = { ...INITIAL_STATE, phase: 'waiting' as const, me: ME }
    expect(received('document.line', { line: [other, you] }, waiting)).toMatchObject({
      waiting: 2,
      waiters: [{ name: 'Ken' }, ME],
      place: 1,
    })
  })

  it.each([
    ['document.locked', { token: 8 }],
    ['document.line', { line: 5 }],
  ])('an event of the server that is malformed changes nothing: %s %j', (event, data) => {
    expect(received(event, data, held)).toEqual(held)
  })

  it.each([
    ['document.locked', 8, true],
    ['document.locked', 7, false],
    ['document.unlocked', 7, true],
    ['document.unlocked', 6, false],
    ['document.saved', 9, false],
  ])('%s with token %i ends a lease with token 7: %s', (event, token, ends) => {
    expect(endsLease(event, { token }, 7)).toBe(ends)
  })
})
