import { Etcd3 } from 'etcd3'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { createOnce, type EtcdJobsOptions, etcdJobs, type JobGrant } from '../../src/once/index.ts'
import { eventually } from '../eventually.ts'
import { describeJobStore } from '../once/describe-job-store.ts'
import { expectOneHolder } from '../once/one-holder.ts'
import { afterLostAnswers, beforeWrites } from './etcd/odd-clients.ts'

const { HOLDFAST_TEST_ETCD_URL: url = '' } = process.env
const hosts = url.replace('etcd:', 'http:')
/** The shortest etcd lease that the server grants. */
const SHORTEST_TTL_S = 2

const client = new Etcd3({ hosts })
afterAll(() => client.close())

describeJobStore('etcd', {
  ttl: 300,
  // Only times can be stored: the time of the etcd lease.
  typedTime: true,
  create: async () => {
    const prefix = freshPrefix()
    const other = new Etcd3({ hosts })
    return {
      prefix,
      jobs: etcdJobs(client, { prefix }),
      peer: etcdJobs(other, { prefix }),
      set: async (id: string, field: string, value: string) => {
        const record = JSON.parse((await client.get(`${prefix}job/${id}`).string()) ?? '')
        await client.put(`${prefix}job/${id}`).value(JSON.stringify({ ...record, [field]: value }))
      },
      dispose: async () => {
        other.close()
        await client.delete().prefix(prefix)
      },
    }
  },
  // The etcd leases whose time would be over are revoked, as etcd does it. Results end earlier by the same time.
  async pass({ prefix }, ms) {
    for (const [key, text] of Object.entries(await client.getAll().prefix(`${prefix}job/`).strings())) {
      const { keptUntil, ...record } = JSON.parse(text)
      const earlier = keptUntil && new Date(Date.parse(keptUntil) - ms).toISOString()
      if (keptUntil) await client.put(key).value(JSON.stringify({ ...record, keptUntil: earlier }))
    }
    const { kvs } = await client.getAll().prefix(`${prefix}lock/`).exec()
    for (const { lease } of kvs) {
      const { grantedTTL } = await client.leaseClient.leaseTimeToLive({ ID: lease, keys: false })
      if (Number(grantedTTL) <= Math.max(SHORTEST_TTL_S, ms / 1000))
        await client.leaseClient.leaseRevoke({ ID: lease })
    }
  },
})

describe('a job in etcd', () => {
  const open = async (options: EtcdJobsOptions = {}) => {
    const prefix = freshPrefix()
    const jobs = etcdJobs(client, { prefix, ...options })
    await jobs.add('job')
    return { prefix, jobs, record: `${prefix}job/job`, lock: `${prefix}lock/job` }
  }

  it('a job in etcd has one holder at a time if many owners acquire and release it', async () => {
    const { jobs } = await open()
    await expectOneHolder(jobs, 5)
  })

  it('a job in etcd is free again when etcd has ended the lease of its lock, whatever the clock of a worker says', async () => {
    const { jobs } = await open()
    await jobs.acquire('job', 'dead', 1)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 })
    try {
      expect(await jobs.acquire('job', 'b', 60_000)).toMatchObject({ reason: 'locked' })
      await eventually(async () =>
        expect(await jobs.acquire('job', 'b', 60_000)).toMatchObject({ granted: true, attempt: 2 }),
      )
    } finally {
      vi.useRealTimers()
    }
  })

  it('a job in etcd can have other names and statuses, and its other fields stay as they are', async () => {
    const { jobs, record } = await open({
      fields: { status: 'state', result: 'résultat' },
      statuses: { pending: 'new', ready: 'done', alsoFinal: ['cancelled'] },
    })
    await client.put(record).value(JSON.stringify({ title: 'mine', state: 'new' }))
    expect(await createOnce(jobs).run('job', () => ({ score: [1] }))).toMatchObject({ ran: true })
    expect(JSON.parse((await client.get(record).string()) ?? '')).toEqual({
      title: 'mine',
      state: 'done',
      résultat: { score: [1] },
      error: null,
      attempts: 1,
      lockToken: expect.any(Number),
    })
  })

  it('a job in etcd is granted once, finished and released although the client repeats requests whose answers were lost', async () => {
    const prefix = freshPrefix()
    const jobs = etcdJobs(afterLostAnswers(client), { prefix })
    await jobs.add('job')
    const { token } = (await jobs.acquire('job', 'a', 60_000)) as JobGrant
    expect(await jobs.read('job')).toMatchObject({ attempts: 1 })
    expect(await jobs.acquire('job', 'b', 60_000)).toMatchObject({ reason: 'locked' })
    expect(await jobs.refresh('job', 'a', 60_000)).not.toBeNull()
    expect(await jobs.finish('job', { owner: 'a', token }, { result: 1 })).toBe(true)
    expect(await jobs.read('job')).toMatchObject({ status: 'READY', result: 1 })
    expect(await client.getAll().prefix(`${prefix}lock/`)).toEqual({})
  })

  it('a job in etcd is not extended or finished if its lock ends between the read and the write', async () => {
    const prefix = freshPrefix()
    const jobs = etcdJobs(client, { prefix })
    const endLock = async () => {
      const [lock] = (await client.getAll().prefix(`${prefix}lock/`).exec()).kvs
      if (lock) await client.leaseClient.leaseRevoke({ ID: lock.lease })
    }
    const late = etcdJobs(beforeWrites(client, endLock), { prefix })
    await jobs.add('job')
    await jobs.acquire('job', 'a', 60_000)
    expect(await late.refresh('job', 'a', 60_000)).toBeNull()
    const { token } = (await jobs.acquire('job', 'a', 60_000)) as JobGrant
    expect(await late.finish('job', { owner: 'a', token }, { result: 1 })).toBe(false)
    expect(await jobs.read('job')).toMatchObject({ status: 'PENDING', attempts: 2 })
  })

  it('a job in etcd that is damaged is store-failed, and stays as it is', async () => {
    const { jobs, record, lock } = await open()
    const failed = (message: string) =>
      expect.objectContaining({
        code: 'store-failed',
        resource: 'job',
        message: expect.stringContaining(message),
      })
    for (const damage of ['{', '[]x', '7', 'null']) {
      await client.put(record).value(damage)
      await expect(jobs.acquire('job', 'a', 1000)).rejects.toEqual(failed('expected a JSON object'))
      await expect(jobs.read('job')).rejects.toEqual(failed('expected a JSON object'))
      await jobs.add('job')
      expect(await client.get(record).string()).toBe(damage)
    }
    await client.put(record).value('{}')
    await client.put(lock).value('{"lockOwner":"mine"}')
    await expect(jobs.acquire('job', 'a', 1000)).rejects.toEqual(failed('expected an etcd lease at the key'))
    expect(await client.get(lock).string()).toBe('{"lockOwner":"mine"}')
  })

  it('a job in etcd becomes FAILED if its result is larger than a request of etcd may be', async () => {
    const { jobs } = await open()
    await expect(createOnce(jobs).run('job', () => '文'.repeat(600_000))).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('expected the record of a job of at most 1500000 bytes, got 18000'),
    })
    expect(await jobs.read('job')).toMatchObject({ status: 'FAILED' })
  })

  it('a job in etcd of an unreachable server is store-unavailable, and of a closed client store-failed', async () => {
    const nobody = new Etcd3({ hosts: 'http://127.0.0.1:1' })
    await expect(etcdJobs(nobody).acquire('job', 'a', 1000)).rejects.toMatchObject({
      code: 'store-unavailable',
      retryable: true,
      resource: 'job',
    })
    nobody.close()
    const closed = new Etcd3({ hosts })
    closed.close()
    await expect(etcdJobs(closed).read('job')).rejects.toMatchObject({ code: 'store-failed' })
  })

  it('a job in etcd needs an etcd client and valid options', () => {
    for (const none of [null, {}, 10n, url])
      expect(() => etcdJobs(none as never)).toThrow('client: expected an Etcd3 of etcd3')
    expect(() => etcdJobs(client, null as never)).toThrow('options: expected an object, got null')
    expect(() => etcdJobs(client, { prefix: 1n as never })).toThrow('prefix: expected a non-empty string')
    expect(() => etcdJobs(client, { fields: { status: 'x', result: 'x' } })).toThrow(
      'fields: expected different names',
    )
  })
})

function freshPrefix(): string {
  return `jobs-${crypto.randomUUID()}/`
}
