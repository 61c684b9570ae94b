import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { everyFrame } from './use-frames.ts'

let frames: (() => void)[]
const reportError = vi.fn()
const stops: (() => void)[] = []
beforeEach(() => {
  frames = []
  vi.stubGlobal('requestAnimationFrame', (frame: () => void) => frames.push(frame))
  vi.stubGlobal('reportError', reportError.mockReset())
})
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
  showFrame()
  vi.unstubAllGlobals()
})

const start = (tick: () => void) => stops.push(everyFrame(tick))
const showFrame = () => {
  for (const frame of frames.splice(0)) frame()
}

it('the loop of frames runs all callers in one loop, which ends with the last of them', () => {
  const ticks = [vi.fn(), vi.fn()]
  ticks.forEach(start)
  showFrame()
  expect(ticks.map((tick) => tick.mock.calls.length)).toEqual([2, 2])
  expect(frames).toHaveLength(1)
  for (const stop of stops.splice(0)) stop()
  showFrame()
  expect(frames).toHaveLength(0)
})

it('the loop of frames continues for the other callers, and for later ones, when one throws', () => {
  const error = new Error('a text of the page failed')
  const before = vi.fn()
  const failing = vi.fn(() => {
    if (failing.mock.calls.length > 1) throw error
  })
  const after = vi.fn()
  for (const tick of [before, failing, after]) start(tick)
  for (let n = 0; n < 3; n++) showFrame()
  const later = vi.fn()
  start(later)
  showFrame()
  expect([before, failing, after, later].map((tick) => tick.mock.calls.length)).toEqual([5, 2, 5, 2])
  expect(reportError).toHaveBeenCalledExactlyOnceWith(error)
})
