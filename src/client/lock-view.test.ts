import { describe, expect, it, vi } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { createLockView, type LockView } from './lock-view.ts'

const response = (token: number) => ({
  status: 200,
  body: {
    is_locked: true,
    locked_at: '2030-01-01T12:04:00.000Z',
    expires_in_ms: 30_000,
    token,
    holder: { session_id: 's2', client_id: 'c2', name: 'Ken', is_you: false },
  },
})

describe('a response to a request that was sent before the lock ended', () => {
  function lateResponse(token: number): LockView {
    const view = createLockView(new FakeClock())
    view.expectResponse()(response(5))
    const onResponse = view.expectResponse()
    view.onEvent('document.unlocked', { token: 5 })
    expect(view.state.phase).toBe('idle')
    onResponse(response(token))
    return view
  }

  it('a response to a request that was sent before the lock ended does not bring the old holder back', () => {
    expect(lateResponse(5).state).toMatchObject({ phase: 'idle', holder: null })
  })

  it('a response to a request that was sent before the lock ended shows a new holder', () => {
    expect(lateResponse(6).state).toMatchObject({ phase: 'read-only', holder: { token: 6 } })
  })
})

it('the view of a lock tells listeners of changes until it is closed', () => {
  const view = createLockView(new FakeClock())
  const listener = vi.fn()
  view.subscribe(listener)
  view.dispatch({ type: 'acquiring' })
  view.close()
  view.dispatch({ type: 'released' })
  expect(listener).toHaveBeenCalledOnce()
  expect(view.state.phase).toBe('idle')
})
