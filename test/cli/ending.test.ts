import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { now } from '../../src/testing/node/observation.ts'
import { Holdfast, holdfast, isRunning, MAIN, temporaryDirectory } from './holdfast.ts'
import { Ticking, TTL_MS } from './ticking.ts'

describe('a command of holdfast run', () => {
  let store: string
  let ticking: Ticking
  beforeEach(() => {
    const directory = temporaryDirectory()
    store = `sqlite:${join(directory, 'holdfast.db')}`
    ticking = new Ticking(directory)
  })

  it.each(['stubborn', 'forks'] as const)(
    '(%s) is dead before the lease ends when holdfast itself is stopped',
    async (behaviour) => {
      const first = ticking.start('first', { store, behaviour })
      await ticking.untilRunning('first', first, behaviour === 'forks' ? 2 : 1)
      first.signal('SIGSTOP')
      const stoppedAt = now()
      const second = ticking.start('second', { store, forMs: 100 })
      const { to } = await ticking.untilDead('first', first)
      expect((to - stoppedAt) / 1000).toBeLessThan(TTL_MS)
      // If it was stopped within a transaction of SQLite, the second cannot use the file until the first continues.
      const stuck = setTimeout(() => first.signal('SIGCONT'), 3 * TTL_MS)
      expect((await second.ended).code).toBe(0)
      clearTimeout(stuck)
      first.signal('SIGCONT')
      expect(await first.ended).toMatchObject({
        code: 76,
        stderr: expect.stringMatching(
          /stopped for longer than its lease|another caller ended it, or it expired/,
        ),
      })
      ticking.expectOneAtATime()
    },
  )

  it('a command of holdfast run that ignores SIGTERM is dead soon after holdfast was killed', async () => {
    const first = ticking.start('first', { store, behaviour: 'stubborn' })
    await ticking.untilRunning('first', first)
    first.signal('SIGKILL')
    const killedAt = now()
    const { to } = await ticking.untilDead('first', first)
    expect((to - killedAt) / 1000).toBeLessThan(TTL_MS)
  })

  it('a command of holdfast run is dead soon after holdfast was killed while it wrote to its watchdog', async () => {
    const command = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' })
    const ended = once(command, 'exit')
    const watchdog = spawn(process.execPath, [MAIN.replace('main.ts', 'run/watchdog-main.ts')])
    onTestFinished(() => void [command, watchdog].map((process) => process.kill('SIGKILL')))
    const starting = { type: 'starting', leaseId: '7', graceMs: 1000, isNested: false }
    const started = { type: 'started', leader: command.pid }
    watchdog.stdin.end(
      `${JSON.stringify(starting)}\n${JSON.stringify(started)}\n{"type":"extend","killAt":{"mono":1,"wall":2}`,
    )
    expect(await ended).toEqual([null, 'SIGTERM'])
  })

  it.runIf(process.platform === 'linux')(
    'a command of holdfast run is dead soon after holdfast was killed before it could tell its watchdog of the command',
    async () => {
      const watchdog = spawn(process.execPath, [MAIN.replace('main.ts', 'run/watchdog-main.ts')])
      const leaseId = crypto.randomUUID()
      watchdog.stdin.end(`${JSON.stringify({ type: 'starting', leaseId, graceMs: 1000, isNested: false })}\n`)
      await once(watchdog.stdin, 'close')
      const env = { ...process.env, HOLDFAST_LEASE_ID: leaseId }
      const command = spawn('sleep', ['600'], { detached: true, stdio: 'ignore', env })
      onTestFinished(() => void [command, watchdog].map((process) => process.kill('SIGKILL')))
      expect(await once(command, 'exit')).toEqual([null, 'SIGTERM'])
      expect(await once(watchdog, 'exit')).toEqual([0, null])
    },
  )

  it('a command of holdfast run is killed with all its processes when its lease is ended by force', async () => {
    // With this TTL, the next renewal would find out much later.
    const first = ticking.start('first', { store, ttl: '1h', behaviour: 'forks' })
    await ticking.untilRunning('first', first, 2)
    const release = await holdfast(['release', '--force', '--yes', '--store', store, ticking.resource])
    expect(release.stdout).toMatch(/^Released job, which .* held\.$/m)
    await ticking.untilDead('first', first)
    const second = ticking.start('second', { store, forMs: 100 })
    expect(await first.ended).toMatchObject({
      code: 76,
      stderr: expect.stringContaining('another caller ended it'),
    })
    expect((await second.ended).code).toBe(0)
  })

  it('a command of holdfast run leaves no process of its group behind when the lease is released', async () => {
    const first = ticking.start('first', { store, behaviour: 'leaves' })
    await ticking.untilRunning('first', first, 2)
    const second = ticking.start('second', { store, forMs: 100 })
    expect([(await first.ended).code, (await second.ended).code]).toEqual([0, 0])
    ticking.expectOneAtATime()
  })

  it('a command of holdfast run leaves no job of a shell with job control behind', async () => {
    const shell = ['bash', '-c', 'set -m; sleep 600 & echo $!']
    const run = new Holdfast(['run', '--store', store, 'job', '--', ...shell])
    const { code, stdout } = await run.ended
    expect(code).toBe(0)
    expect(isRunning(Number(stdout))).toBe(false)
  })

  it('a command of holdfast run in a nested holdfast run ends with the outer one', async () => {
    const stubborn = ['sh', '-c', 'echo $$; trap "" TERM; while :; do sleep 0.1; done']
    const inner = [process.execPath, MAIN, 'run', '--store', store, '--ttl', '1h', 'inner', '--', ...stubborn]
    const outer = new Holdfast(['run', '--store', store, 'outer', '--', ...inner])
    await expect.poll(() => outer.stdout).toMatch(/^\d+\n/)
    await holdfast(['release', '--force', '--yes', '--store', store, 'outer'])
    // Long before the grace of the inner one is over.
    await expect.poll(() => isRunning(Number.parseInt(outer.stdout, 10))).toBe(false)
    expect((await outer.ended).code).toBe(76)
  })
})
