import { describe, expect, it } from 'vitest'
import { AutoSaveError } from './errors.ts'
import { type Action, canRetry, INITIAL_AUTOSAVE_STATE, reduce } from './state.ts'
import type { AutoSavePhase, AutoSaveState } from './types.ts'

const error = new AutoSaveError('write-failed', 'for a test')
const conflict: Action = { type: 'locked-out', reason: 'conflict', error, inLine: false }
const held: Action = { type: 'locked-out', reason: 'held', error, inLine: true }
const granted: Action = { type: 'granted', backend: 'web', stale: false, unsaved: true }
const saving: Action[] = [{ type: 'edited' }, { type: 'due' }, granted, { type: 'writing' }]
const committed: Action = { type: 'committed', at: 1, by: 'web', unsaved: false }

function stateAfter(...actions: Action[]): AutoSaveState {
  return actions.reduce(reduce, INITIAL_AUTOSAVE_STATE)
}

describe('the phases', () => {
  it.each<[AutoSavePhase, Action[]]>([
    ['idle', []],
    ['debouncing', [{ type: 'edited' }]],
    ['awaiting-lock', [{ type: 'edited' }, { type: 'due' }]],
    ['writing', saving],
    ['committing', [...saving, { type: 'written' }]],
    ['gc', [...saving, { type: 'written' }, committed]],
    ['idle', [...saving, { type: 'written' }, committed, { type: 'finished', unsaved: false }]],
    ['debouncing', [...saving, { type: 'written' }, committed, { type: 'finished', unsaved: true }]],
    ['backoff', [...saving, { type: 'failed', error, retryAt: 5 }]],
    ['awaiting-lock', [...saving, { type: 'failed', error, retryAt: 5 }, { type: 'due' }]],
    ['error', [...saving, { type: 'failed', error, retryAt: null }]],
    ['debouncing', [...saving, { type: 'failed', error, retryAt: null }, { type: 'edited' }]],
    ['read-only', [...saving, held]],
    ['read-only', [...saving, held, { type: 'edited' }, { type: 'due' }]],
    ['debouncing', [...saving, held, granted]],
    ['idle', [held, { ...granted, unsaved: false }]],
    ['read-only', [...saving, conflict, { type: 'due' }]],
    ['idle', [...saving, conflict, { type: 'loaded', savedAt: 1, unsaved: false }]],
    ['debouncing', [...saving, conflict, { type: 'loaded', savedAt: 1, unsaved: true }]],
    ['read-only', [...saving, held, { type: 'loaded', savedAt: 1, unsaved: false }]],
    ['disabled', [{ type: 'closed' }, { type: 'edited' }, { type: 'due' }]],
  ])('are %s after %j', (phase, actions) => {
    expect(stateAfter(...actions).phase).toBe(phase)
  })

  it('the phases ignore the end of a save after the lock was lost', () => {
    const lost = stateAfter(...saving, held)
    for (const late of [{ type: 'written' }, committed, { type: 'failed', error, retryAt: 1 }] as const)
      expect(reduce(lost, late)).toBe(lost)
  })

  it('the phases keep the same object while edits change nothing', () => {
    const edited = stateAfter({ type: 'edited' })
    expect(reduce(edited, { type: 'edited' })).toBe(edited)
  })

  it('the phases keep the lock during a conflict, but not if another tab holds it', () => {
    expect(stateAfter(...saving, conflict)).toMatchObject({ backend: 'web', stale: true, unsaved: true })
    expect(stateAfter(...saving, held)).toMatchObject({ backend: null, unsaved: true })
  })
})

it.each<[boolean, Action[]]>([
  [false, []],
  [false, [{ type: 'edited' }]],
  [true, [...saving, { type: 'failed', error, retryAt: 5 }]],
  [true, [...saving, { type: 'failed', error, retryAt: null }]],
  [false, [...saving, { type: 'failed', error: new AutoSaveError('read-failed', ''), retryAt: null }]],
  [false, [held]],
  [true, [{ ...held, inLine: false }]],
  [false, [conflict]],
])('canRetry is %s after %j', (helps, actions) => {
  expect(canRetry(stateAfter(...actions))).toBe(helps)
})
