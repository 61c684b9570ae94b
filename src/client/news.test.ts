import { describe, expect, it } from 'vitest'
import { endsLease, newsOfAnswer, newsOfEvent } from './news.ts'
import { type DocumentLockState, INITIAL_STATE, reduce } from './state.ts'

const NOW = 1_000_000
const LOCKED = {
  locked_at: '2030-01-01T12:04:00.000Z',
  expires_at: '2030-01-01T12:04:30.000Z',
  expires_in_ms: 30_000,
}
const ME = { sessionId: 's1', clientId: 'c1', name: 'Mika' }
const you = { session_id: 's1', client_id: 'c1', name: 'Mika' }
const other = { session_id: 's2', client_id: 'c2', name: 'Ken' }

function answered(status: number, body: object, state: DocumentLockState = INITIAL_STATE): DocumentLockState {
  return newsOfAnswer({ status, body }, state, NOW).reduce(reduce, state)
}

function hearing(event: string, data: object, state: DocumentLockState = INITIAL_STATE): DocumentLockState {
  return newsOfEvent(event, data, state, NOW).reduce(reduce, state)
}

const held: DocumentLockState = { ...INITIAL_STATE, phase: 'held', token: 7, me: ME }

describe('an answer of the server', () => {
  it('says that nobody holds the document', () => {
    expect(answered(200, { is_locked: false, waiting: [], you })).toMatchObject({
      phase: 'idle',
      holder: null,
      me: ME,
    })
  })

  it('says who does, until when by our own clock', () => {
    const body = {
      is_locked: true,
      ...LOCKED,
      token: 7,
      holder: { ...other, is_you: false },
      you,
      waiting: [other],
    }
    expect(answered(200, body)).toMatchObject({
      phase: 'read-only',
      holder: { sessionId: 's2', name: 'Ken', token: 7, expiresAt: NOW + 30_000, isMe: false },
      waiting: 1,
    })
  })

  it('of a grant or a renewal is about ourselves', () => {
    const holder = { ...ME, isMe: true, token: 7, expiresAt: NOW + 30_000 }
    expect(answered(200, { success: true, ...LOCKED, token: 7, you })).toMatchObject({ holder })
    expect(answered(200, { success: true, ...LOCKED, token: 7 }, held)).toMatchObject({
      holder,
      phase: 'held',
    })
  })

  it('of a refusal tells the place in line', () => {
    const waiting = { ...INITIAL_STATE, phase: 'waiting' as const }
    expect(
      answered(409, { error: 'already_locked', ...LOCKED, holder: other, place: 2 }, waiting),
    ).toMatchObject({
      phase: 'waiting',
      place: 2,
    })
  })

  it.each([[{}], [{ holder: 5 }], [{ waiting: 'x' }], [{ you: null }], [{ expires_in_ms: '1' }]])(
    'that is none changes nothing to a page: %j',
    (body) => expect(answered(200, body).phase).toBe('idle'),
  )
})

describe('an event of the server', () => {
  it('tells of a lock and of its end', () => {
    const locked = hearing('document.locked', { ...LOCKED, token: 7, holder: other })
    expect(locked).toMatchObject({ phase: 'read-only', holder: { name: 'Ken' } })
    expect(hearing('document.unlocked', { token: 7 }, locked)).toMatchObject({ phase: 'idle', holder: null })
  })

  it('of an older lock does not hide a newer one', () => {
    const locked = hearing('document.locked', { ...LOCKED, token: 8, holder: other })
    expect(hearing('document.unlocked', { token: 7 }, locked).holder).toMatchObject({ token: 8 })
  })

  it('has the names that Laravel gives it, too', () => {
    expect(hearing('App\\Events\\DocumentLocked', { ...LOCKED, token: 7, holder: other }).phase).toBe(
      'read-only',
    )
  })

  it('tells who waits, and where we stand', () => {
    const waiting = { ...INITIAL_STATE, phase: 'waiting' as const, me: ME }
    expect(hearing('document.line', { line: [other, you] }, waiting)).toMatchObject({ waiting: 2, place: 1 })
  })

  it('asks the holder alone to hand over', () => {
    const data = { request_id: 'r', kind: 'request', by: other, token: 7, answer_within_ms: 15_000 }
    expect(hearing('document.takeover-requested', data, held).request).toEqual({
      id: 'r',
      name: 'Ken',
      kind: 'request',
      until: NOW + 15_000,
    })
    expect(hearing('document.takeover-requested', data).request).toBeNull()
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
