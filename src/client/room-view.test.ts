import { describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { RoomView } from './room-view.ts'

const answer = (token: number) => ({
  status: 200,
  body: {
    is_locked: true,
    locked_at: '2030-01-01T12:04:00.000Z',
    expires_in_ms: 30_000,
    token,
    holder: { session_id: 's2', client_id: 'c2', name: 'Ken', is_you: false },
  },
})

describe('an answer that was on its way while the end of the lock was heard of', () => {
  function lateAnswer(token: number): RoomView {
    const view = new RoomView(new FakeClock(), async () => {})
    view.look(answer(5), view.heard)
    const askedAt = view.heard
    view.hear('document.unlocked', { token: 5 })
    expect(view.state.phase).toBe('idle')
    view.look(answer(token), askedAt)
    return view
  }

  it('does not bring the old holder back', () => {
    expect(lateAnswer(5).state).toMatchObject({ phase: 'idle', holder: null })
  })

  it('tells of a new holder', () => {
    expect(lateAnswer(6).state).toMatchObject({ phase: 'read-only', holder: { token: 6 } })
  })
})
