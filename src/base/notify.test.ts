import { expect, it, vi } from 'vitest'
import { notify } from './notify.ts'

it('a listener that throws affects nobody', () => {
  const throws = vi.fn((_: number, __: string) => {
    throw new Error('a mistake of the listener')
  })
  notify(throws, 1, 'two')
  expect(throws).toHaveBeenCalledWith(1, 'two')
})

it('a listener that rejects later is no unhandled rejection', () => {
  // biome-ignore lint/suspicious/noThenProperty: what an async listener returns.
  const later = { then: vi.fn() }
  notify(() => later)
  expect(later.then).toHaveBeenCalledWith(undefined, expect.any(Function))
})

it('nobody may listen', () => {
  expect(() => notify(undefined, 1)).not.toThrow()
})
