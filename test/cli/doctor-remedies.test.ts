import { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startPgbouncer } from '../stores/postgres/pgbouncer.ts'
import { holdfast } from './holdfast.ts'

const { HOLDFAST_TEST_REDIS_URL: redis = '', HOLDFAST_TEST_POSTGRES_URL: postgres = '' } = process.env

describe('doctor behind PgBouncer in transaction mode', () => {
  it('doctor behind PgBouncer in transaction mode names --listen, says that leases work, and is content when it is given', async () => {
    await using pooler = await startPgbouncer(postgres)
    const { code, stdout } = await holdfast(['doctor', pooler.url])
    expect(stdout).toMatch(
      /! push .*notifications do not arrive.*\n +→ name the direct connection with --listen/,
    )
    expect(stdout).toMatch(
      /✗ bus .*notifications do not arrive.*\n +→ name the direct connection with --listen/,
    )
    expect(stdout).not.toContain('migrate')
    expect(stdout).toContain('Leases can be used, holdfast serve cannot be run here')
    expect(code).toBe(1)
    const ran = await holdfast(['run', '--store', pooler.url, `job-${process.pid}`, '--', 'echo', 'ran'])
    expect(ran).toMatchObject({ code: 0, stdout: 'ran\n' })

    const byParameter = `${pooler.url}?listen=${encodeURIComponent(postgres)}`
    const calls = [
      [['doctor', pooler.url, '--listen', postgres], {}],
      [['doctor', byParameter], {}],
      [['doctor', '--store', pooler.url], { HOLDFAST_LISTEN: postgres }],
    ] as const
    for (const [args, env] of calls) {
      const direct = await holdfast(args, { env })
      expect(direct.stdout).toMatch(/✓ bus .*\n(.*\n)*.*✓ push +a change was pushed within/)
      expect(direct.code).toBe(0)
    }
  })

  it('doctor behind PgBouncer in transaction mode is refused for another store, and for an address of another store', async () => {
    expect(await holdfast(['ls', '--store', 'redis://host', '--listen', postgres])).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('--listen: only a store of Postgres has'),
    })
    expect(await holdfast(['ls', '--store', postgres, '--listen', redis])).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('listen: expected an address that begins with postgres:'),
    })
  })
})

describe('doctor on a Redis whose user lacks a right', () => {
  it.each([
    [
      'INFO',
      '-info',
      /! setting +this user may not ask for INFO.*\n +→ give it \+info to have them checked/,
      'This store can be used; see the warnings.',
    ],
    [
      'SUBSCRIBE',
      '-subscribe',
      /! push .*NOPERM.*\n +→ give this user its keys, channels and commands: ACL SETUSER/,
      'Leases can be used, holdfast serve cannot be run here: see the failures.',
    ],
  ])('%s: leases work, and it says so', async (_, right, finding, summary) => {
    const name = `doctor-${crypto.randomUUID()}`
    const admin = new Redis(redis)
    onTestFinished(async () => {
      await admin.call('ACL', 'DELUSER', name)
      admin.disconnect()
    })
    await admin.call('ACL', 'SETUSER', name, 'on', '>secret', '~*', '&*', '+@all', right)
    const store = redis.replace('://', `://${name}:secret@`)
    const { stdout } = await holdfast(['doctor', store])
    expect(stdout).toMatch(finding)
    expect(stdout).toContain(summary)
    expect(stdout).not.toMatch(/migrate|right server/)
    const ran = await holdfast(['run', '--store', store, `job-${name}`, '--', 'echo', 'ran'])
    expect(ran).toMatchObject({ code: 0, stdout: 'ran\n' })
  })
})
