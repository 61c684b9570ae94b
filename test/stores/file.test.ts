import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { fileStore } from '../../src/stores/file/index.ts'
import { describeStore } from '../../src/testing/index.ts'
import { MovedClock } from './file/moved-clock.ts'

const SETTLE_MS = 20

describeStore('file', {
  runner: { describe, it },
  supports: { queue: false },
  ttl: 1000,
  create: async () => {
    const directory = join(await mkdtemp(join(tmpdir(), 'holdfast-file-')), 'locks')
    const clock = new MovedClock()
    const store = fileStore(directory, { clock })
    const peer = fileStore(directory, { clock })
    return {
      directory,
      clock,
      store,
      peer,
      dispose: async () => {
        await Promise.all([store.close(), peer.close()])
        await rm(directory, { recursive: true, force: true })
      },
    }
  },
  // Pushes come by real files, so a part of the time has to pass for real.
  pass: async ({ clock }, ms) => {
    clock.pass(Math.max(0, ms - SETTLE_MS))
    await new Promise((resolve) => setTimeout(resolve, Math.min(ms, SETTLE_MS)))
  },
  stepClock: ({ clock }, ms) => clock.jump(ms),
  reopen: async ({ directory, clock, store }) => {
    await store.close()
    return fileStore(directory, { clock })
  },
  interruptWatch: async ({ directory }) => {
    await rm(join(directory, 'changes'), { recursive: true })
  },
})
