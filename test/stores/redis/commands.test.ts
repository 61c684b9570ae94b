/** The rights that docs/stores/redis.md names are those that the scripts need. Leases: test/stores/redis.test.ts. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { root } from '../../../scripts/run-tool.ts'
import { REDIS_COMMANDS, type RedisPart } from '../../../src/clients/redis-commands.ts'
import { redisGuard } from '../../../src/guard/index.ts'
import { createOnce, redisJobs } from '../../../src/once/index.ts'
import { redisAudit, redisBus, redisDocuments, redisSecrets } from '../../../src/server/index.ts'
import { scriptsFor } from '../../../src/stores/redis/scripts.ts'
import { holdfast } from '../../cli/holdfast.ts'
import { startServe } from '../../cli/server.ts'
import { freshPrefix, HOLDFAST_TEST_REDIS_URL } from './clients.ts'

/** Sent by themselves, and not by a script. */
const DIRECT = ['eval', 'evalsha', 'subscribe', 'unsubscribe']

function commandsIn(text: string): string[] {
  const calls = text.matchAll(/\bp?call\('([A-Z]+)'(?:, '([A-Z]+)')?/g)
  const names = [...calls].map(([, name, sub]) => (name === 'PUBSUB' ? `${name}|${sub}` : `${name}`))
  return [...new Set(names.map((name) => name.toLowerCase()))].sort()
}

const source = (path: string) => readFileSync(join(root, 'src', path), 'utf8')
const listed = (...parts: RedisPart[]) =>
  [...new Set(parts.flatMap((part) => REDIS_COMMANDS[part]))].filter((name) => !DIRECT.includes(name)).sort()

it('the lists have exactly the commands of the scripts', () => {
  const { one, many } = scriptsFor('any')
  expect(listed('leases')).toEqual(commandsIn(one + many))
  expect(listed('documents', 'audit', 'secrets')).toEqual(commandsIn(source('server/redis.ts')))
  expect(listed('jobs')).toEqual(commandsIn(source('once/redis-scripts.ts')))
  expect(listed('guard')).toEqual(commandsIn(source('guard/redis.ts')))
})

/** The address of a user with these rights, for keys and channels that begin with the prefix. */
async function addressOf(prefix: string, commands: readonly string[]): Promise<string> {
  const admin = new Redis(HOLDFAST_TEST_REDIS_URL)
  const rights = ['info', ...commands].map((command) => `+${command}`)
  await admin.call('ACL', 'SETUSER', prefix, 'on', '>secret', `~${prefix}:*`, `&${prefix}:*`, ...rights)
  onTestFinished(async () => {
    await admin.call('ACL', 'DELUSER', prefix)
    admin.disconnect()
  })
  return HOLDFAST_TEST_REDIS_URL.replace('://', `://${prefix}:secret@`)
}

async function clientOf(prefix: string, part: RedisPart): Promise<Redis> {
  const client = new Redis(await addressOf(prefix, REDIS_COMMANDS[part]))
  onTestFinished(() => client.disconnect())
  return client
}

describe('a user of Redis that may run only the listed commands', () => {
  it('a user of Redis that may run only the listed commands uses documents', async () => {
    const prefix = freshPrefix()
    const documents = redisDocuments(await clientOf(prefix, 'documents'), { prefix })
    const grant = { token: 1, holder: 'a' }
    await documents.check?.()
    expect(await documents.fence('draft', grant)).toBe(true)
    expect(await documents.save('draft', grant, 'text', { sequence: 1 })).toMatchObject({ saved: true })
    expect(await documents.read('draft')).toMatchObject({ content: 'text' })
    expect(await documents.remove('draft', grant)).toEqual({ removed: true })
  })

  it('a user of Redis that may run only the listed commands uses the audit trail', async () => {
    const prefix = freshPrefix()
    const audit = redisAudit(await clientOf(prefix, 'audit'), { prefix })
    const at = '2030-01-01T12:00:00.000Z'
    const entry = { at, action: 'lock', resource: 'draft', token: 1, owner: 'a' } as const
    await audit.append(entry)
    expect((await audit.read({ limit: 1 })).entries).toEqual([entry])
  })

  it('a user of Redis that may run only the listed commands keeps secrets', async () => {
    const prefix = freshPrefix()
    const secrets = redisSecrets(await clientOf(prefix, 'secrets'), { prefix })
    expect(await secrets.keep('cookie', 'a-secret-of-the-tests')).toBe('a-secret-of-the-tests')
  })

  it('a user of Redis that may run only the listed commands uses the bus', async () => {
    const prefix = freshPrefix()
    const bus = redisBus(await clientOf(prefix, 'bus'), { channel: `${prefix}:bus` })
    onTestFinished(() => bus.close())
    await bus.check?.()
  })

  it('a user of Redis that may run only the listed commands runs jobs', async () => {
    const prefix = freshPrefix()
    const jobs = redisJobs(await clientOf(prefix, 'jobs'), { prefix })
    await jobs.add('job')
    expect(await createOnce(jobs).run('job', async () => 'done')).toMatchObject({ result: 'done' })
    await jobs.add('failing')
    const failing = createOnce(jobs).run('failing', () => Promise.reject(new Error('no')))
    await expect(failing).rejects.toThrow('no')
  })

  it('a user of Redis that may run only the listed commands writes a guarded key', async () => {
    const prefix = freshPrefix()
    const client = await clientOf(prefix, 'guard')
    const guard = redisGuard(client, `${prefix}:{draft}`)
    await guard.set({ resource: 'draft', id: 'a', token: 1 }, 'text', { px: 60_000 })
  })

  it('a user of Redis that may run only the listed commands runs a server, and doctor has nothing to say', async () => {
    const prefix = freshPrefix()
    const parts: RedisPart[] = ['leases', 'documents', 'audit', 'secrets', 'bus']
    const address = await addressOf(prefix, [...listed(...parts), ...DIRECT])
    const store = `${address}?prefix=${prefix}`
    const doctor = await holdfast(['doctor', store])
    expect([doctor.code, doctor.stdout]).toEqual([0, expect.not.stringMatching(/✗|! commands|! push/)])
    const { url } = await startServe(store)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    expect((await fetch(`${url}/api/documents/draft/lock`, { method: 'POST' })).status).toBe(200)
  })

  it('learns from doctor which commands it lacks, by name', async () => {
    const prefix = freshPrefix()
    const some = REDIS_COMMANDS.leases.filter((command) => !['zadd', 'hgetall'].includes(command))
    const address = await addressOf(prefix, some)
    const { code, stdout } = await holdfast(['doctor', `${address}?prefix=${prefix}`])
    expect(stdout).toMatch(
      /✗ commands +this user may not run hgetall, zadd\n +→ ACL SETUSER <user> \+hgetall \+zadd\n/,
    )
    expect(stdout).toMatch(/! commands +this user may not run .*xadd.*, which holdfast serve needs\n/)
    expect(code).toBe(1)
  })
})
