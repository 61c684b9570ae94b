import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { LeaseStore } from '../../core/index.ts'
import { memoryStore } from '../../stores/memory.ts'
import { CommandSettings } from '../settings.ts'
import { openTerminal } from '../terminal.ts'
import { run } from './run.ts'

const opened = vi.hoisted(() => ({ store: undefined as unknown as LeaseStore }))
vi.mock('../stores/index.ts', () => ({
  storeAddress: () => 'memory:',
  isNewDefault: () => false,
  withStore: (_: string, work: (opened: { store: LeaseStore }) => Promise<number>) => work(opened),
}))

it('a signal that comes after the grant and before the command starts ends the run, and the command never starts', async () => {
  const before = SIGNALS.map((signal) => process.listeners(signal))
  onTestFinished(() => {
    for (const [index, signal] of SIGNALS.entries())
      for (const listener of process.listeners(signal))
        if (!before[index]?.includes(listener)) process.off(signal, listener)
  })
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-run-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const store = memoryStore()
  opened.store = {
    ...store,
    // A slow grant: most of the TTL has passed, so the lease is renewed before the command starts.
    async acquire(ask, call) {
      const answer = await store.acquire(ask, call)
      return answer.granted ? { ...answer, lease: { ...answer.lease, remaining: ask.ttl / 3 } } : answer
    },
    renew(ask, call) {
      process.emit('SIGTERM')
      return store.renew(ask, call)
    },
  }
  const started = join(directory, 'started')
  const settings = await CommandSettings.load({ store: 'memory:', quiet: true }, run.options, {})
  const invocation = { positionals: ['job'], settings, terminal: openTerminal({}, false) }
  expect(await run.run({ ...invocation, childCommand: ['touch', started] })).toBe(143)
  expect(existsSync(started)).toBe(false)
  expect(await store.read(['job'])).toEqual([[]])
})

const SIGNALS = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGTERM',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
  'SIGTSTP',
] as const
