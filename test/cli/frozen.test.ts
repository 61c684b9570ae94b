import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startServer } from '../../scripts/services/index.ts'
import { now } from '../../src/testing/node/observation.ts'
import { temporaryDirectory } from './holdfast.ts'
import { startServe } from './server.ts'
import { Ticking, TTL_MS } from './ticking.ts'

interface Freezable {
  readonly store: string
  freeze(): void
  thaw(): void
}

/** Stores that a test can stop from answering for a while. */
const STORES: Readonly<Record<string, (directory: string) => Promise<Freezable>>> = {
  redis: () => freezableServer('redis'),
  postgres: () => freezableServer('postgres'),
  nats: () => freezableServer('nats'),
  async http(directory) {
    const { server, store } = await startServe(`sqlite:${join(directory, 'server.db')}`)
    return { store, freeze: () => server.signal('SIGSTOP'), thaw: () => server.signal('SIGCONT') }
  },
  async sqlite(directory) {
    const path = join(directory, 'holdfast.db')
    const locker = new DatabaseSync(path)
    onTestFinished(() => locker.close())
    return {
      store: `sqlite:${path}`,
      freeze: () => locker.exec('PRAGMA busy_timeout = 30000; BEGIN IMMEDIATE'),
      thaw: () => locker.exec('ROLLBACK'),
    }
  },
}

describe.each(Object.entries(STORES))('when %s is frozen while a command runs', (_, open) => {
  it('the command is dead before its lease ends and before another one starts', async () => {
    const directory = temporaryDirectory()
    const { store, freeze, thaw } = await open(directory)
    const ticking = new Ticking(directory)
    const first = ticking.start('first', { store, behaviour: 'stubborn' })
    await ticking.untilRunning('first', first)
    const second = ticking.start('second', { store, forMs: 100, flags: ['--wait', '10m'] })
    await expect.poll(() => second.stderr).toContain('waiting for')

    freeze()
    const frozenAt = now()
    const { to } = await ticking.untilDead('first', first)
    thaw()

    // No renewal was answered after it was frozen, so the lease ended within one TTL.
    expect((to - frozenAt) / 1000).toBeLessThan(TTL_MS)
    expect(await first.ended).toMatchObject({ code: 76 })
    expect(first.stderr).toMatch(/cannot be renewed .* sent SIGTERM/)
    expect(await second.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('acquired job') })
    ticking.expectOneAtATime()
  })
})

async function freezableServer(name: 'redis' | 'postgres' | 'nats'): Promise<Freezable> {
  const server = await startServer(name)
  onTestFinished(() => server.stop())
  return { store: server.address, freeze: () => server.freeze(), thaw: () => server.thaw() }
}
