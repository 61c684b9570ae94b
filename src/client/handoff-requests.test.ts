import { beforeEach, describe, expect, it, vi } from 'vitest'
import { FakeClock } from '../testing/index.ts'
import { HandoffRequests } from './handoff-requests.ts'
import { createLockView, type LockView } from './lock-view.ts'

const ME = { sessionId: 's1', clientId: 'c1', name: 'Mika' }
const you = { session_id: 's1', client_id: 'c1', name: 'Mika' }
const ken = { session_id: 's2', client_id: 'c2', name: 'Ken' }
const REQUEST = { request_id: 'r', kind: 'request', by: ken, token: 7, answer_within_ms: 15_000 }

let clock: FakeClock
let view: LockView
let follow: HandoffRequests
const refresh = vi.fn()
const onPostponed = vi.fn()
beforeEach(() => {
  clock = new FakeClock(0)
  view = createLockView(clock)
  view.change({ me: ME })
  refresh.mockClear()
  onPostponed.mockClear()
  follow = new HandoffRequests({ clock, view, refresh, onPostponed })
})

describe('a request for the lock', () => {
  it('a request for the lock is shown to its holder, until it is answered', () => {
    view.dispatch({ type: 'granted', token: 7 })
    follow.onEvent('document.takeover-requested', REQUEST)
    const request = {
      id: 'r',
      name: 'Ken',
      kind: 'request',
      until: 15_000,
      isOwn: false,
      passes: [],
      postponedUntil: null,
    }
    expect(view.state.request).toEqual(request)
    follow.onEvent('document.takeover-answered', { request_id: 'another' })
    expect(view.state.request).not.toBeNull()
    follow.onEvent('document.takeover-answered', { request_id: 'r' })
    expect(view.state.request).toBeNull()
  })

  it.each([
    ['to another holder', { ...REQUEST, token: 6 }],
    ['that is malformed', { ...REQUEST, request_id: 5 }],
    ['without a time limit', { ...REQUEST, answer_within_ms: undefined }],
  ])('%s changes nothing', (_, data) => {
    view.dispatch({ type: 'granted', token: 7 })
    follow.onEvent('document.takeover-requested', data)
    expect(view.state.request).toBeNull()
  })

  it('ends with its time, and the lock is read again, because another one may be open', async () => {
    view.dispatch({ type: 'granted', token: 7 })
    follow.onResponse({ status: 200, body: { request: REQUEST } })
    expect(view.state.request).toMatchObject({ id: 'r' })
    await clock.advance(15_000)
    expect(view.state.request).toBeNull()
    expect(refresh).toHaveBeenCalledTimes(1)
  })

  it('a request for the lock of another tab of this session is marked as such', () => {
    view.dispatch({ type: 'granted', token: 7 })
    const by = { ...you, client_id: 'c9' }
    follow.onEvent('document.takeover-requested', { ...REQUEST, by })
    expect(view.state.request).toMatchObject({ isOwn: true })
  })
})

describe('a request that the holder postpones', () => {
  const POSTPONED = { request_id: 'r', by: you, postponed_ms: 120_000, answer_within_ms: 135_000 }

  it('waits, for the one who asked, and is asked again when the time is over', async () => {
    view.change({ demand: 'asking' })
    follow.onEvent('document.takeover-postponed', POSTPONED)
    expect(view.state).toMatchObject({ demand: 'postponed', postponedUntil: 120_000 })
    expect(onPostponed).toHaveBeenCalledWith(135_000)
    await clock.advance(119_999)
    expect(view.state.demand).toBe('postponed')
    await clock.advance(1)
    expect(view.state).toMatchObject({ demand: 'asking', postponedUntil: null })
  })

  it('a request that the holder postpones of somebody else changes nothing for this tab', () => {
    view.change({ demand: 'asking' })
    follow.onEvent('document.takeover-postponed', { ...POSTPONED, by: ken })
    expect(view.state.demand).toBe('asking')
    expect(onPostponed).not.toHaveBeenCalled()
  })

  it('a request that the holder postpones is shown to the holder again when the time is over', async () => {
    view.dispatch({ type: 'granted', token: 7 })
    follow.onResponse({
      status: 200,
      body: { request: { ...REQUEST, postponed_ms: 120_000, answer_within_ms: 135_000 } },
    })
    expect(view.state.request).toMatchObject({ postponedUntil: 120_000, until: 135_000 })
    await clock.advance(120_000)
    expect(view.state.request).toMatchObject({ postponedUntil: null, until: 135_000 })
    await clock.advance(15_000)
    expect(view.state.request).toBeNull()
  })
})

describe('a request from further back', () => {
  const passing = { ...REQUEST, passes: [you] }

  it('a request from further back is shown to those whom it passes, until it is over', async () => {
    view.dispatch({ type: 'waiting' })
    follow.onEvent('document.takeover-requested', passing)
    expect(view.state).toMatchObject({ request: null, passedBy: { name: 'Ken', passes: [ME] } })
    follow.onEvent('document.takeover-answered', { request_id: 'r' })
    expect(view.state.passedBy).toBeNull()
    follow.onEvent('document.takeover-requested', passing)
    await clock.advance(15_000)
    expect(view.state.passedBy).toBeNull()
  })

  it('a request from further back is not shown to others, nor after this tab has left the queue', () => {
    view.dispatch({ type: 'waiting' })
    follow.onEvent('document.takeover-requested', { ...passing, passes: [ken] })
    expect(view.state.passedBy).toBeNull()
    follow.onEvent('document.takeover-requested', passing)
    view.dispatch({ type: 'released' })
    expect(view.state.passedBy).toBeNull()
  })
})
