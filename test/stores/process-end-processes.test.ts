import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, createLeases, type LeaseStore, type Leases } from '../../src/core/index.ts'
import { fileStore } from '../../src/stores/file/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { asking } from './asking.ts'
import { MovedClock } from './file/moved-clock.ts'

/** Needs a kernel and a user that may create namespaces. */
const canUnshare = spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'true']).status === 0

const HOUR_MS = 3_600_000

const CHILD = join(import.meta.dirname, 'ending-child.ts')

const STORES: Record<
  string,
  { at(directory: string): string; open(place: string, clock: Clock): LeaseStore }
> = {
  sqlite: {
    at: (directory) => join(directory, 'leases.db'),
    open: (place, clock) => sqliteStore(place, { clock }),
  },
  file: { at: (directory) => join(directory, 'locks'), open: (place, clock) => fileStore(place, { clock }) },
}

const ENDS: Record<string, (child: ChildProcess) => unknown> = {
  'calls process.exit': (child) => child.stdin?.write('exit'),
  throws: (child) => child.stdin?.write('throw'),
  'is interrupted': (child) => child.kill('SIGINT'),
  'is killed': (child) => child.kill('SIGKILL'),
}

describe.each(Object.entries(STORES))('a lease of %s whose process ends', (kind, { at, open }) => {
  let directory: string
  let place: string
  let clock: MovedClock
  let store: LeaseStore
  let leases: Leases
  const children: ChildProcess[] = []
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
    place = at(directory)
    clock = new MovedClock()
    store = open(place, clock)
    leases = createLeases(store)
  })
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    await leases.close()
    await store.close()
    rmSync(directory, { recursive: true })
  })

  async function holder(options: string[] = [], command: string[] = []): Promise<ChildProcess> {
    const [file = '', ...args] = [...command, process.execPath, CHILD, kind, place, ...options]
    const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'ignore'] })
    children.push(child)
    await once(child.stdout, 'data')
    return child
  }

  it.each(Object.entries(ENDS))('is free at once when the process %s', async (_, end) => {
    const child = await holder()
    expect(await leases.tryAcquire('r')).toBeNull()
    const before = await leases.inspect('r')
    const ended = once(child, 'exit')
    end(child)
    await ended
    await expect.poll(() => leases.inspect('r')).toBeNull()
    const lease = await leases.tryAcquire('r')
    expect(lease?.token).toBeGreaterThan(before?.token ?? Infinity)
  })

  it('is granted to a waiter', async () => {
    const child = await holder()
    const waiting = leases.acquire('r', { wait: '1h' })
    child.kill('SIGKILL')
    expect((await waiting).held).toBe(true)
  })

  it('keeps the resource for its lockDelay, which begins when its end is noticed and does not begin again', async () => {
    const child = await holder(['true', String(HOUR_MS)])
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    const keptFor = async () => {
      const answer = await store.acquire(asking('r'))
      return answer.granted ? null : answer.keptFor
    }
    await expect.poll(keptFor).toBeGreaterThan(0)
    clock.pass(HOUR_MS / 2)
    expect(await keptFor()).toBeLessThanOrEqual(HOUR_MS / 2)
  })

  it('lives until its TTL ends if the manager was told so', async () => {
    const child = await holder(['false'])
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    expect(await leases.tryAcquire('r')).toBeNull()
  })

  it.skipIf(!canUnshare)(
    'lives until its TTL ends if the process had pids of its own, as in a container',
    async () => {
      const child = await holder([], ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'])
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      expect(await leases.tryAcquire('r')).toBeNull()
    },
  )

  it.skipIf(!canUnshare)(
    'lives until its TTL ends if a process shares neither the pids nor their list',
    async () => {
      const child = await holder([], ['unshare', '--pid', '--fork', '--kill-child'])
      expect(await leases.tryAcquire('r')).toBeNull()
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      expect(await leases.tryAcquire('r')).toBeNull()
    },
  )
})
