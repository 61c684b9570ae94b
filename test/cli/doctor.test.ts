import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { closedPort } from '../closed-port.ts'
import { holdfast, temporaryDirectory } from './holdfast.ts'
import { kindsOfStores } from './stores.ts'

const {
  HOLDFAST_TEST_REDIS_URL: redis,
  HOLDFAST_TEST_POSTGRES_URL: postgres,
  HOLDFAST_TEST_MYSQL_URL: mysql,
  HOLDFAST_TEST_NATS_URL: nats,
  HOLDFAST_TEST_ETCD_URL: etcd,
} = process.env

describe.each(kindsOfStores({ redis, postgres, mysql, nats, etcd }))('%s', (_, storeIn) => {
  it('passes all checks of doctor', async () => {
    const { code, stdout } = await holdfast(['doctor', await storeIn(temporaryDirectory())])
    const checks = ['reachable', 'version', 'schema', 'permissions', 'tokens', 'clock', 'push', 'speed']
    for (const check of checks) expect(stdout).toMatch(new RegExp(`^  ✓ ${check} +\\S`, 'm'))
    expect(code).toBe(0)
  })

  it('is measured by bench', async () => {
    const store = await storeIn(temporaryDirectory())
    const { code, stdout } = await holdfast(['bench', store, '--duration', '100ms', '--json'])
    expect(code).toBe(0)
    const { measurements } = JSON.parse(stdout)
    expect(measurements).toHaveLength(4)
    for (const { perSecond, p50Ms, p99Ms } of measurements) {
      expect(perSecond).toBeGreaterThan(0)
      expect(p99Ms).toBeGreaterThanOrEqual(p50Ms)
    }
  })
})

describe('holdfast doctor', () => {
  it('says that nobody uses the default store, if it is not there', async () => {
    const cwd = temporaryDirectory()
    const first = await holdfast(['doctor'], { cwd })
    expect(first.stdout).toMatch(
      /db\n {2}! store +no file was there yet.*\n +→ name yours, or set HOLDFAST_STORE\n/,
    )
    expect(first.code).toBe(0)
    for (const args of [['doctor'], ['doctor', 'sqlite:./other.db']])
      expect((await holdfast(args, { cwd })).stdout).not.toContain('no file was there')
  })

  it.each([
    [
      'no directory',
      'sqlite:./none/holdfast.db',
      /db\n {2}✗ reachable .*directory \.\/none does not exist\n +→ create it/,
    ],
    ['no database', 'sqlite:./text.db', /✗ schema .*not a database\n +→ name another file, or /],
    [
      'no store',
      'mongodb:x',
      /✗ reachable .*is not the address of a store\n +→ expected one that begins with sqlite:/,
    ],
  ])('reports that there is %s, and what to do', async (_, store, finding) => {
    const cwd = temporaryDirectory()
    writeFileSync(join(cwd, 'text.db'), 'this file is not a database'.repeat(100))
    const { code, stdout } = await holdfast(['doctor', store], { cwd })
    expect(stdout).toMatch(finding)
    expect(code).toBe(1)
  })

  it.each(['redis', 'rediss', 'postgres', 'mysql', 'nats', 'etcd', 'http', 'https'])(
    'shows why no server can be reached at an address of %s, but no password',
    async (scheme) => {
      const user = scheme.startsWith('http') ? '' : 'mika:secret@'
      const path = scheme === 'mysql' ? '/app' : ''
      const address = `${scheme}://${user}127.0.0.1:${await closedPort()}${path}`
      const { code, stdout } = await holdfast(['doctor', address])
      expect(stdout).toMatch(
        /✗ reachable .*(ECONNREFUSED 127|connection refused|No connection established).*\n +→ check that it is running/,
      )
      expect(stdout).not.toContain('secret')
      expect(code).toBe(1)
    },
  )

  it('says which table of Postgres is missing, and creates it again', async () => {
    const schema = `doctor_${process.pid}`
    const store = `${postgres}?schema=${schema}`
    const admin = new pg.Client(postgres)
    await admin.connect()
    onTestFinished(async () => {
      await admin.query(`drop schema ${schema} cascade`)
      await admin.end()
    })
    expect(await holdfast(['doctor', store])).toMatchObject({
      code: 0,
      stdout: expect.not.stringMatching(/!/),
    })
    await admin.query(`drop table ${schema}.holdfast_leases_waiters cascade`)
    const { code, stdout } = await holdfast(['doctor', store])
    expect(stdout).toMatch(
      /! setting .*holdfast_leases_waiters".* does not exist; .* created it again\n +→ find out/,
    )
    expect(code).toBe(0)
  })

  it('holdfast doctor reports a missing permission', async () => {
    const name = `reader-${crypto.randomUUID()}`
    const admin = new Redis(redis ?? '')
    onTestFinished(async () => {
      await admin.call('ACL', 'DELUSER', name)
      admin.disconnect()
    })
    await admin.call('ACL', 'SETUSER', name, 'on', '>secret', '~*', '&*', '+@connection', '+info')
    const store = (redis ?? '').replace('://', `://${name}:secret@`)
    const { code, stdout } = await holdfast(['doctor', store])
    expect(stdout).toMatch(
      /✗ schema .*NOPERM.*\n +→ give this user its keys, channels and commands: ACL SETUSER/,
    )
    expect(stdout).not.toContain('secret')
    expect(code).toBe(1)
  })
})
