import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { Holdfast, holdfast, stateOf, temporaryDirectory } from './holdfast.ts'

describe('holdfast run', () => {
  let store: string
  beforeEach(() => {
    store = `sqlite:${join(temporaryDirectory(), 'holdfast.db')}`
  })

  const run = (resource: string, command: readonly string[], ...flags: readonly string[]) =>
    new Holdfast(['run', '--store', store, ...flags, resource, '--', ...command])

  /** A script that a signal should end has `exec` before its last command: a shell may lose a signal between commands. */
  const shell = (script: string) => ['sh', '-c', script]

  it('holdfast run passes input, output and errors through', async () => {
    const args = ['run', '--store', store, 'job', '--', ...shell('cat; echo bad >&2')]
    expect(await holdfast(args, { input: 'given' })).toEqual({ code: 0, stdout: 'given', stderr: 'bad\n' })
  })

  it('says that it creates the default store, and only then', async () => {
    const cwd = temporaryDirectory()
    const runs = [await holdfast(['run', 'job', '--', 'true'], { cwd })]
    runs.push(await holdfast(['run', 'job', '--', 'true'], { cwd }))
    const created =
      'holdfast: created sqlite:./holdfast.db, the default store; --store or HOLDFAST_STORE names another\n'
    expect(runs.map(({ stderr }) => stderr)).toEqual([created, ''])
    expect((await run('other', ['true']).ended).stderr).toBe('')
  })

  it('holdfast run passes the lease to the command in its environment', async () => {
    const script = 'echo "$HOLDFAST_RESOURCE $HOLDFAST_TOKEN $HOLDFAST_LEASE_ID"'
    const { stdout } = await run('job', shell(script)).ended
    expect(stdout).toMatch(/^job \d{16} [-0-9a-f]{36}\n$/)
  })

  it.each([
    ['the exit code of the command', ['sh', '-c', 'exit 3'], 3],
    ['128 plus the number of the signal', ['sh', '-c', 'kill -KILL $$'], 137],
    ['127 when there is no such command', ['no-such-command'], 127],
    ['126 when it cannot be run', ['/dev/null'], 126],
  ])('exits with %s', async (_, command, code) => {
    expect((await run('job', command).ended).code).toBe(code)
  })

  it('exits with 75 when another holds the lease', async () => {
    const holder = run('job', shell('echo here; exec sleep 600'), '--metadata', 'why=backup')
    await expect.poll(() => holder.stdout).toBe('here\n')
    for (const flags of [['--if-available'], ['--wait', '200ms']])
      expect(await run('job', ['true'], ...flags).ended).toMatchObject({
        code: 75,
        stderr: expect.stringMatching(/job is held by .+@.+:\d+; /),
      })
  })

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGUSR1', 138],
  ] as const)('holdfast run passes %s on to the command, and then releases', async (signal, code) => {
    const running = run('job', shell('echo here; exec sleep 600'))
    await expect.poll(() => running.stdout).toBe('here\n')
    running.signal(signal)
    expect((await running.ended).code).toBe(code)
    expect((await run('job', ['true'], '--if-available').ended).code).toBe(0)
  })

  it('waits for a command that takes time to handle a signal', async () => {
    const running = run(
      'job',
      shell('trap "sleep 0.3; echo bye; exit 5" TERM; echo here; while :; do sleep 0.05; done'),
    )
    await expect.poll(() => running.stdout).toBe('here\n')
    running.signal('SIGTERM')
    expect(await running.ended).toMatchObject({ code: 5, stdout: 'here\nbye\n' })
  })

  it('holdfast run leaves the queue on a signal', async () => {
    const holder = run('job', shell('echo here; exec sleep 600'))
    await expect.poll(() => holder.stdout).toBe('here\n')
    const first = run('job', ['true'])
    await expect.poll(() => first.stderr).toContain('waiting for job: held by ')
    const second = run('job', ['true'])
    await expect.poll(() => second.stderr).toContain('waiting for job: held by ')
    first.signal('SIGTERM')
    expect((await first.ended).code).toBe(143)
    holder.signal('SIGTERM')
    expect((await second.ended).code).toBe(0)
  })

  it('stops and continues the command together with itself', async () => {
    // Not a loop in a shell: a shell that is stopped while it starts a command waits for it in state D, not T.
    const script = "console.log(process.pid); setInterval(() => console.log('on'), 20)"
    const running = run('job', [process.execPath, '-e', script], '--ttl', '1h')
    await expect.poll(() => running.stdout).toContain('on')
    running.signal('SIGTSTP')
    const pid = Number.parseInt(running.stdout, 10)
    // It stops itself after its command, and would lose a SIGCONT that comes between the two.
    await expect.poll(() => [stateOf(pid), stateOf(running.pid)]).toEqual(['T', 'T'])
    running.signal('SIGCONT')
    await expect.poll(() => stateOf(pid)).not.toBe('T')
    const before = running.stdout.length
    await expect.poll(() => running.stdout.length).toBeGreaterThan(before)
  })

  it('holdfast run is inspected with its owner, its metadata and the waiting callers', async () => {
    const holder = run(
      'job',
      shell('echo here; exec sleep 600'),
      '--owner',
      'mika',
      '--metadata',
      '{"ticket":7}',
    )
    await expect.poll(() => holder.stdout).toBe('here\n')
    run('job', ['true'], '--owner', 'ren', '--wait', '1h')
    const inspect = async (...flags: string[]) =>
      (await holdfast(['inspect', ...flags, '--store', store, 'job'])).stdout
    await expect.poll(() => inspect()).toMatch(/^waiting +1: ren$/m)
    expect(JSON.parse(await inspect('--json'))).toMatchObject({
      resource: 'job',
      owner: 'mika',
      metadata: { ticket: 7 },
      waiting: { count: 1, first: [{ owner: 'ren', place: 0 }] },
    })
  })
})
