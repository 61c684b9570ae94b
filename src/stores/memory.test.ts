import { describe, expect, it } from 'vitest'
import { LeaseError } from '../base/errors.ts'
import { describeStore, FakeClock } from '../testing/index.ts'
import { memoryStore } from './memory.ts'

describeStore('memory', {
  runner: { describe, it },
  create: async () => {
    const clock = new FakeClock()
    return { clock, store: memoryStore({ clock }) }
  },
  pass: ({ clock }, ms) => clock.advance(ms),
  stepClock: ({ clock }, ms) => clock.jump(ms),
})

describe('bad arguments', () => {
  const FOREIGN = [null, 10n, Symbol('x'), 42] as never[]

  it.each([
    ['options', FOREIGN.map((given) => () => memoryStore(given))],
    ['clock', [{} as never, ...FOREIGN].map((clock) => () => memoryStore({ clock }))],
  ] as const)('bad arguments are refused at once: %s', (option, attempts) => {
    for (const open of attempts) {
      expect(open).toThrow(LeaseError)
      expect(open).toThrow(`${option}: expected`)
    }
  })
})
