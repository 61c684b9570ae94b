import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { StoreEvent } from '../../core/index.ts'
import { WATCHED_MS, Watchers } from './watchers.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it('announces before the first one hears anything, and again before it is forgotten', async () => {
  const announce = vi.fn(async () => true)
  const watchers = new Watchers(announce)
  const watcher = { on: () => {}, prefix: '' }
  await watchers.add(watcher)
  expect(announce).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(WATCHED_MS)
  expect(announce.mock.calls.length).toBeGreaterThan(2)
  watchers.delete(watcher)
  announce.mockClear()
  await vi.advanceTimersByTimeAsync(WATCHED_MS)
  expect(announce).not.toHaveBeenCalled()
})

it('tells of a gap when the script had forgotten', async () => {
  const announce = vi.fn(async () => false)
  const watchers = new Watchers(announce)
  const seen: StoreEvent[] = []
  await watchers.add({ on: (event) => seen.push(event), prefix: '' })
  expect(seen).toEqual([])
  announce.mockRejectedValueOnce(new Error('no connection'))
  await vi.advanceTimersByTimeAsync(WATCHED_MS / 3)
  expect(seen).toEqual([])
  await vi.advanceTimersByTimeAsync(WATCHED_MS / 3)
  expect(seen).toEqual([{ type: 'gap' }])
})

it('adds nobody when the script could not be told', async () => {
  const watchers = new Watchers(() => Promise.reject(new Error('no connection')))
  await expect(watchers.add({ on: () => {}, prefix: '' })).rejects.toThrow('no connection')
  expect(vi.getTimerCount()).toBe(0)
})
