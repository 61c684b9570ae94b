import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { HANG_MS } from '../hang-limit.ts'
import { temporaryDirectory } from './holdfast.ts'
import { kindsOfStores } from './stores.ts'
import { Ticking, TTL_MS } from './ticking.ts'

const {
  HOLDFAST_TEST_REDIS_URL: redis,
  HOLDFAST_TEST_POSTGRES_URL: postgres,
  HOLDFAST_TEST_MYSQL_URL: mysql,
  HOLDFAST_TEST_NATS_URL: nats,
  HOLDFAST_TEST_ETCD_URL: etcd,
} = process.env

describe.each(kindsOfStores({ redis, postgres, mysql, nats, etcd }))('holdfast run on %s', (_, storeIn) => {
  it('runs one command at a time', async () => {
    const { ticking, store } = await prepare()
    const runs = ['one', 'two'].map((name) => ticking.start(name, { store, ttl: '60s', forMs: 300 }))
    const ended = await Promise.all(runs.map((run) => run.ended))
    expect(ended.map(({ code }) => code)).toEqual([0, 0])
    expect(ticking.holds).toHaveLength(2)
    ticking.expectOneAtATime()
  })

  it('runs the next command after the TTL when it was killed, because its own command is dead then', async () => {
    const { ticking, store } = await prepare()
    const first = ticking.start('first', { store, ttl: '6s' })
    await ticking.untilRunning('first', first)
    const second = ticking.start('second', { store, forMs: 100 })
    await expect.poll(() => second.stderr).toContain('waiting for')
    first.signal('SIGKILL')
    expect((await second.ended).code).toBe(0)
    const [lost, taken] = ticking.holds
    expect(taken).toMatchObject({ worker: 'second' })
    expect(((taken?.from ?? 0) - (lost?.to ?? 0)) / 1000).toBeLessThan(TTL_MS + HANG_MS)
    ticking.expectOneAtATime()
  })

  async function prepare() {
    const directory = temporaryDirectory()
    // Servers keep the leases of earlier tests, so each test has its own name.
    return { ticking: new Ticking(directory, `job-${basename(directory)}`), store: await storeIn(directory) }
  }
})
