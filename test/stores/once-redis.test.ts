import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, describe, expect, it } from 'vitest'
import { createOnce, type JobGrant, type RedisJobsOptions, redisJobs } from '../../src/once/index.ts'
import { FakeClock } from '../../src/testing/index.ts'
import { describeJobStore } from '../once/describe-job-store.ts'
import { expectOneHolder } from '../once/one-holder.ts'
import { expectServerClock } from '../once/server-clock.ts'
import { clientNames, clients, freshPrefix, HOLDFAST_TEST_REDIS_URL } from './redis/clients.ts'
import { timedClient } from './redis/timed-client.ts'

const redis = new Redis(HOLDFAST_TEST_REDIS_URL)
afterAll(() => redis.disconnect())

for (const name of clientNames)
  describeJobStore(name, {
    ttl: 300,
    create: async () => {
      const prefix = freshPrefix()
      const [own, other] = await Promise.all([1, 2].map(() => clients[name](HOLDFAST_TEST_REDIS_URL)))
      if (!own || !other) throw new Error('two clients expected')
      return {
        jobs: redisJobs(own.client, { prefix }),
        peer: redisJobs(other.client, { prefix }),
        set: async (id: string, field: string, value: string) => {
          await redis.hset(`${prefix}:${id}`, field, value)
        },
        // Redis itself would delete a job that is no longer kept, which no other store does.
        age: async (id: string, ms: number) => {
          const key = `${prefix}:${id}`
          for (const field of ['lockExpiresAt', 'lockHeartbeatAt', 'keptUntil']) {
            const time = await redis.hget(key, field)
            if (time !== null) await redis.hset(key, field, String(Number(time) - ms))
          }
        },
        dispose: async () => {
          for (const { close } of [own, other]) close()
        },
      }
    },
  })

describe('a job in a hash of Redis', () => {
  const open = async (options: RedisJobsOptions = {}) => {
    const prefix = freshPrefix()
    const jobs = redisJobs(redis, { prefix, ...options })
    await jobs.add('job')
    return { jobs, key: `${prefix}:job` }
  }

  it('a job in a hash of Redis can have other names and statuses, and its other fields stay as they are', async () => {
    const { jobs, key } = await open({
      fields: { status: 'state of "it"', result: 'résultat\n' },
      statuses: { pending: 'new', ready: 'done', alsoFinal: ['cancelled'] },
    })
    await redis.hset(key, 'title', 'mine')
    expect(await createOnce(jobs).run('job', () => ({ score: [1] }))).toMatchObject({ ran: true })
    expect(await redis.hgetall(key)).toEqual({
      title: 'mine',
      'state of "it"': 'done',
      'résultat\n': '{"score":[1]}',
      attempts: '1',
      lockToken: expect.stringMatching(/^\d{16}$/),
    })
    await redis.hset(key, 'state of "it"', 'cancelled')
    expect(await jobs.acquire('job', 'a', 1000)).toMatchObject({
      granted: false,
      reason: 'already_finished',
    })
  })

  it('a job in a hash of Redis can be written by the application, with any status that is not final', async () => {
    const { jobs, key } = await open()
    await redis.del(key)
    await redis.hset(key, 'title', 'mine')
    expect(await jobs.read('job')).toMatchObject({ status: null, finished: false, attempts: 0 })
    expect(await jobs.acquire('job', 'a', 1000)).toMatchObject({ granted: true, attempt: 1 })
  })

  it('a job in a hash of Redis is locked by the clock of the server, not of the worker', async () =>
    expectServerClock((await open()).jobs))

  it('a job in a hash of Redis has one holder at a time if many owners acquire and release it', async () => {
    const { jobs } = await open()
    await expectOneHolder(jobs, 30)
  })

  it('a job in a hash of Redis keeps every text as it is, and a missing result as null', async () => {
    const { jobs } = await open()
    const owner = 'Ü "\n\0'
    const { token } = (await jobs.acquire('job', owner, 60_000)) as JobGrant
    expect(await jobs.finish('job', { owner, token }, {} as never)).toBe(true)
    expect(await jobs.read('job')).toMatchObject({ status: 'READY', result: null, error: null })
    await jobs.add('other')
    const grant = (await jobs.acquire('other', owner, 0.5e-3 + 60_000)) as JobGrant
    const error = 'no:\n\0 日本'
    expect(await jobs.finish('other', { owner, token: grant.token }, { error })).toBe(true)
    expect(await jobs.read('other')).toMatchObject({ status: 'FAILED', error })
  })

  it('a job in a hash of Redis of an unreachable server is store-unavailable, and of a closed client store-failed', async () => {
    const nobody = new Redis('redis://127.0.0.1:1', { maxRetriesPerRequest: 0, retryStrategy: () => 20 })
    const jobs = redisJobs(nobody)
    await expect(jobs.acquire('job', 'a', 1000)).rejects.toMatchObject({
      code: 'store-unavailable',
      retryable: true,
      message: expect.stringContaining('ECONNREFUSED'),
    })
    nobody.disconnect()
    const closed = expect.objectContaining({ code: 'store-failed', resource: 'job' })
    const ended = new Redis({ lazyConnect: true })
    ended.disconnect()
    await expect(redisJobs(ended).read('job')).rejects.toEqual(closed)
    const neverConnected = createClient({ url: HOLDFAST_TEST_REDIS_URL })
    await expect(redisJobs(neverConnected).read('job')).rejects.toEqual(closed)
  })

  it('a job in a hash of Redis needs a Redis client and valid options', () => {
    for (const none of [null, {}, 10n, HOLDFAST_TEST_REDIS_URL])
      expect(() => redisJobs(none as never)).toThrow('client: expected a Redis or Cluster of ioredis, or ')
    expect(() => redisJobs(redis, null as never)).toThrow('options: expected an object, got null')
    for (const prefix of ['', 'a{b}', 'a\n', 1n])
      expect(() => redisJobs(redis, { prefix: prefix as never })).toThrow('prefix: expected a name without')
    expect(() => redisJobs(redis, { fields: { status: 'x', result: 'x' } })).toThrow(
      'fields: expected different names',
    )
    expect(() => redisJobs(redis, { statuses: { ready: 'PENDING' } })).toThrow('statuses: expected different')
  })
})

describe('a damaged job in Redis', () => {
  const open = async () => {
    const clock = new FakeClock()
    const { client, close } = timedClient(HOLDFAST_TEST_REDIS_URL, clock)
    const prefix = freshPrefix()
    const jobs = redisJobs(client, { prefix })
    await jobs.add('job')
    return { clock, jobs, key: `${prefix}:job`, [Symbol.dispose]: close }
  }

  it('a damaged job in Redis with an unreadable expiry and no heartbeat stays locked for a TTL after the first request', async () => {
    for (const expiry of ['soon', '', '1e99', '0x10', '-1', ' 5', '9'.repeat(20)]) {
      using opened = await open()
      const { clock, jobs, key } = opened
      await redis.hset(key, { lockOwner: 'x', lockExpiresAt: expiry, lockHeartbeatAt: '?' })
      for (const ms of [0, 999]) {
        await clock.advance(ms)
        expect(await jobs.acquire('job', 'a', 1000), expiry).toMatchObject({ reason: 'locked' })
      }
      await clock.advance(2)
      expect(await jobs.acquire('job', 'a', 1000), expiry).toMatchObject({ granted: true })
    }
  })

  it('a damaged job in Redis with an unreadable expiry can be extended by its owner, but not finished before', async () => {
    using opened = await open()
    const { jobs, key } = opened
    const { token } = (await jobs.acquire('job', 'a', 1000)) as JobGrant
    await redis.hset(key, 'lockExpiresAt', 'soon')
    expect(await jobs.finish('job', { owner: 'a', token }, { result: 1 })).toBe(false)
    expect(await jobs.refresh('job', 'a', 1000)).toMatchObject({ remaining: 1000 })
    expect(await jobs.finish('job', { owner: 'a', token }, { result: 1 })).toBe(true)
  })

  it('a damaged job in Redis with an unreadable token and count is granted as if it had none', async () => {
    using opened = await open()
    const { clock, jobs, key } = opened
    await redis.hset(key, { lockToken: 'nan', attempts: '1.5', result: '{', error: '' })
    expect(await jobs.read('job')).toMatchObject({ attempts: 0, result: null, error: '' })
    const token = clock.now() * 1000
    expect(await jobs.acquire('job', 'a', 1000)).toMatchObject({ granted: true, token, attempt: 1 })
  })

  it('a damaged job in Redis gets a higher token also after the clock of the server was set back', async () => {
    using opened = await open()
    const { clock, jobs } = opened
    const first = (await jobs.acquire('job', 'a', 1000)) as JobGrant
    await jobs.release('job', 'a')
    clock.jump(-60_000)
    expect(await jobs.acquire('job', 'b', 1000)).toMatchObject({ token: first.token + 1 })
  })

  it('a damaged job in Redis that is not a hash is store-failed, and stays as it is', async () => {
    const prefix = freshPrefix()
    for (const name of clientNames) {
      const { client, close } = await clients[name](HOLDFAST_TEST_REDIS_URL)
      const jobs = redisJobs(client, { prefix })
      await redis.set(`${prefix}:job`, 'mine')
      const failed = expect.objectContaining({
        code: 'store-failed',
        resource: 'job',
        message: expect.stringContaining('WRONGTYPE'),
      })
      await expect(jobs.add('job')).rejects.toEqual(failed)
      await expect(jobs.acquire('job', 'a', 1000)).rejects.toEqual(failed)
      await expect(jobs.read('job')).rejects.toEqual(failed)
      expect(await redis.get(`${prefix}:job`)).toBe('mine')
      close()
    }
  })

  it('a damaged job in Redis is not guessed from an answer that no script gives', async () => {
    for (const answer of [
      'OK',
      1,
      ['granted'],
      ['granted', '1', 'x', '1', '1'],
      [Buffer.from('granted')],
      {},
    ]) {
      const strange = Object.assign(Object.create(redis), { eval: async () => answer })
      await expect(redisJobs(strange).acquire('job', 'a', 1000), String(answer)).rejects.toMatchObject({
        code: 'store-failed',
        message: expect.stringContaining('expected the answer to a job request'),
      })
    }
  })
})
