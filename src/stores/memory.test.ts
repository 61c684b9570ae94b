import { describe, it } from 'vitest'
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
