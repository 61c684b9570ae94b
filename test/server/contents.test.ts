import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { Etcd3 } from 'etcd3'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { createPool } from 'mysql2/promise'
import pg from 'pg'
import postgres from 'postgres'
import { createClient } from 'redis'
import { afterAll, describe, expect, it } from 'vitest'
import type { JsonValue } from '../../src/base/records.ts'
import type { AuditEntry } from '../../src/protocol/index.ts'
import {
  type AuditLog,
  type DocumentGrant,
  type DocumentStore,
  etcdAudit,
  etcdDocuments,
  etcdSecrets,
  memoryAudit,
  memoryDocuments,
  mysqlAudit,
  mysqlDocuments,
  mysqlSecrets,
  natsAudit,
  natsDocuments,
  natsSecrets,
  postgresAudit,
  postgresDocuments,
  postgresSecrets,
  redisAudit,
  redisDocuments,
  redisSecrets,
  type SecretStore,
  UnreadableContent,
} from '../../src/server/index.ts'
import { openSqlite, sqliteAudit, sqliteDocuments } from '../../src/server/node/index.ts'
import { checkProperty } from '../property.ts'
import { afterLostAnswers } from '../stores/etcd/odd-clients.ts'

const {
  HOLDFAST_TEST_POSTGRES_URL: serverUrl = '',
  HOLDFAST_TEST_REDIS_URL: redisUrl = '',
  HOLDFAST_TEST_NATS_URL: natsUrl = '',
  HOLDFAST_TEST_MYSQL_URL: mysqlUrl = '',
  HOLDFAST_TEST_ETCD_URL: etcdUrl = '',
} = process.env
const directory = mkdtempSync(join(tmpdir(), 'holdfast-contents-'))
const pool = new pg.Pool({ connectionString: serverUrl, max: 4 })
const sql = postgres(serverUrl, { max: 2, onnotice: () => {} })
const database = openSqlite(join(directory, 'holdfast.db'))
const odd = new DatabaseSync(':memory:', { readBigInts: true, returnArrays: true })
const ioRedis = new Redis(redisUrl)
const nodeRedis = await createClient({ url: redisUrl }).connect()
const nats = await connect({ servers: natsUrl })
const mysql = createPool(mysqlUrl)
const etcd = new Etcd3({ hosts: etcdUrl.replace('etcd:', 'http:') })
afterAll(async () => {
  ioRedis.disconnect()
  etcd.close()
  nodeRedis.destroy()
  await Promise.all([pool.end(), sql.end(), nats.close(), mysql.end()])
  database.close()
  odd.close()
  rmSync(directory, { recursive: true })
})

const MAX_ENTRIES = 150
let places = 0
const place = () => `contents_${process.pid}_${++places}`

/** For each backend, a function that returns several stores on one new place, as the nodes of a service have them. */
const DOCUMENTS: readonly (readonly [string, () => () => DocumentStore])[] = [
  ['memory', () => once(() => memoryDocuments())],
  ['SQLite', () => at((table) => sqliteDocuments(database, { table }))],
  ['SQLite of an application', () => at((table) => sqliteDocuments(odd, { table }))],
  ['pg', () => at((table) => postgresDocuments(pool, { table }))],
  ['postgres.js', () => at((table) => postgresDocuments(sql, { table }))],
  ['ioredis', () => at((prefix) => redisDocuments(ioRedis, { prefix }))],
  ['redis', () => at((prefix) => redisDocuments(nodeRedis, { prefix }))],
  ['NATS', () => at((bucket) => natsDocuments(nats, { bucket }))],
  ['etcd', () => at((prefix) => etcdDocuments(etcd, { prefix }))],
  ['MySQL', () => at((table) => mysqlDocuments(mysql, { table }))],
]
const SECRETS: readonly (readonly [string, () => () => SecretStore])[] = [
  ['pg', () => at((table) => postgresSecrets(pool, { table }))],
  ['ioredis', () => at((prefix) => redisSecrets(ioRedis, { prefix }))],
  ['NATS', () => at((bucket) => natsSecrets(nats, { bucket }))],
  ['etcd', () => at((prefix) => etcdSecrets(etcd, { prefix }))],
  ['MySQL', () => at((table) => mysqlSecrets(mysql, { table }))],
]
const AUDITS: readonly (readonly [string, () => AuditLog])[] = [
  ['memory', () => memoryAudit(MAX_ENTRIES)],
  ['SQLite', () => sqliteAudit(database, { table: place(), maxEntries: MAX_ENTRIES })],
  ['SQLite of an application', () => sqliteAudit(odd, { table: place(), maxEntries: MAX_ENTRIES })],
  ['pg', () => postgresAudit(pool, { table: place(), maxEntries: MAX_ENTRIES })],
  ['postgres.js', () => postgresAudit(sql, { table: place(), maxEntries: MAX_ENTRIES })],
  ['ioredis', () => redisAudit(ioRedis, { prefix: place(), maxEntries: MAX_ENTRIES })],
  ['redis', () => redisAudit(nodeRedis, { prefix: place(), maxEntries: MAX_ENTRIES })],
  ['NATS', () => natsAudit(nats, { bucket: place(), maxEntries: MAX_ENTRIES })],
  ['etcd', () => etcdAudit(etcd, { prefix: place(), maxEntries: MAX_ENTRIES })],
  ['MySQL', () => mysqlAudit(mysql, { table: place(), maxEntries: MAX_ENTRIES })],
]
const LARGE = '文🔒'.repeat(300_000)
const NOON = Date.UTC(2030, 0, 1, 12) * 1000

// Most of them fit, so that most requests are carried out.
const GRANT = fc.record({
  token: fc.constantFrom(1, 1, 1, 2),
  holder: fc.constantFrom('a', 'a', 'a', 'b'),
})
const REVISION = fc.constantFrom('any', 'none', 'first', 'latest', 'future')
const SEQUENCE = fc.constantFrom(undefined, 0, 1, 2, 3, Number.MAX_SAFE_INTEGER)
const STEPS = fc.array(
  fc.oneof(
    fc.record({ what: fc.constant('fence'), grant: GRANT }),
    fc.record({ what: fc.constant('read') }),
    fc.record({ what: fc.constant('save'), grant: GRANT, revision: REVISION, sequence: SEQUENCE }),
    fc.record({ what: fc.constant('remove'), grant: GRANT, revision: REVISION, sequence: SEQUENCE }),
    fc.record({ what: fc.constant('remove'), grant: fc.constant(null), revision: REVISION }),
  ),
  { minLength: 20, maxLength: 20 },
)

/** What a store answers to these requests, one after the other. The first revision that it gives is 1, and so on. */
async function answersOf(
  store: DocumentStore,
  room: string,
  steps: readonly {
    what: string
    grant?: DocumentGrant | null
    revision?: string
    sequence?: number | undefined
  }[],
): Promise<unknown> {
  const revisions: number[] = []
  const answers: unknown[] = []
  for (const { what, grant, revision: wanted, sequence } of steps) {
    const [first = 0, latest = 0] = [revisions[0], revisions.at(-1)]
    const expected = { none: 0, first, latest, future: latest + 10 ** 6 }[String(wanted)]
    const by = { token: NOON + Number(grant?.token), holder: String(grant?.holder) }
    if (what === 'fence') answers.push(await store.fence(room, by))
    else if (what === 'read') {
      const { content, token, revision } = (await store.read(room)) ?? {}
      answers.push([content, token, revision && revisions.indexOf(revision) + 1])
    } else {
      const answer =
        what === 'save'
          ? await store.save(room, by, `content ${revisions.length}`, { revision: expected, sequence })
          : await store.remove(room, grant ? by : null, { revision: expected, sequence })
      if ('saved' in answer && answer.saved && !revisions.includes(answer.revision))
        revisions.push(answer.revision)
      const revision = 'revision' in answer ? revisions.indexOf(answer.revision) + 1 : undefined
      answers.push({ ...answer, savedAt: undefined, revision })
    }
  }
  return answers
}

describe.each(DOCUMENTS)('contents in %s', (backend, create) => {
  it('are saved only for the holder of the latest grant, at whichever node', async () => {
    const open = create()
    const [one, other] = [open(), open()]
    const [first, second] = [grant(1, 'a'), grant(2, 'b')]
    expect(await one.save('room', first, 'early')).toEqual({ saved: false, fence: null })
    expect(await one.fence('room', first)).toBe(true)
    expect(await other.fence('room', first)).toBe(false)
    expect(await other.save('room', first, 'by a')).toMatchObject({
      saved: true,
      savedAt: expect.any(Number),
    })
    expect(await one.save('room', { ...first, holder: 'x' }, 'forged')).toEqual({
      saved: false,
      fence: first.token,
    })
    expect(await other.fence('room', second)).toBe(true)
    expect(await one.save('room', first, 'late')).toEqual({ saved: false, fence: second.token })
    expect(await one.fence('room', first)).toBe(false)
    expect(await one.read('room')).toMatchObject({ content: 'by a', token: first.token })
    await one.save('room', second, 'by b')
    expect(await other.read('room')).toMatchObject({ content: 'by b', token: second.token })
  })

  it('are never those of a holder that was followed, while saves and grants race', async () => {
    const open = create()
    const nodes = [open(), open(), open()] as const
    await nodes[0].fence('room', grant(0, 'h0'))
    for (let n = 1; n <= 10; n++) {
      const [old, next] = [grant(n - 1, `h${n - 1}`), grant(n, `h${n}`)]
      const raised = nodes[0].fence('room', next)
      const late = [nodes[1], nodes[2]].map((node) => node.save('room', old, `late ${n}`))
      await raised
      // From here on the fence stands.
      const before = await nodes[0].save('room', next, `by ${n}`)
      expect(before.saved).toBe(true)
      await Promise.all(late)
      expect(await nodes[1].read('room')).toMatchObject({ content: `by ${n}`, token: next.token })
      expect(await nodes[2].save('room', old, 'later')).toEqual({ saved: false, fence: next.token })
    }
  })

  it('have a revision that rises with every save, also after they were deleted', async () => {
    const store = create()()
    const holder = grant(1, 'a')
    await store.fence('room', holder)
    const revisions = [0]
    for (const content of ['one', 'two', 'three']) {
      const expected = revisions.at(-1) ?? 0
      expect(await store.save('room', holder, 'other', { revision: expected + 1 })).toEqual({
        saved: false,
        revision: expected,
      })
      const saving = await store.save('room', holder, content, { revision: expected })
      const { revision = 0, content: stored } = (await store.read('room')) ?? {}
      expect(saving).toMatchObject({ saved: true, revision })
      expect([revision > expected, stored]).toEqual([true, content])
      revisions.push(revision)
    }
    const last = revisions.at(-1) ?? 0
    expect(await store.remove('room', holder, { revision: last - 1 })).toEqual({
      removed: false,
      revision: last,
    })
    expect(await store.remove('room', grant(0, 'a'), { revision: last })).toEqual({
      removed: false,
      fence: holder.token,
    })
    expect(await store.remove('room', null, { revision: 0 })).toEqual({ removed: false, revision: last })
    expect(await store.remove('room', holder, { revision: last })).toEqual({ removed: true })
    expect(await store.read('room')).toBeNull()
    expect(await store.remove('room', null)).toEqual({ removed: true })
    expect(await store.save('room', holder, 'again', { revision: last })).toEqual({
      saved: false,
      revision: 0,
    })
    expect(await store.save('room', holder, 'again', { revision: 0 })).toMatchObject({ saved: true })
    expect((await store.read('room'))?.revision).toBeGreaterThan(last)
    expect(await store.remove('room', null)).toEqual({ removed: true })
    expect(await store.remove('never locked', null)).toEqual({ removed: true })
  })

  it('are not replaced by an older save of the same grant, and a repeated save is answered as before', async () => {
    const open = create()
    const [one, other] = [open(), open()]
    const holder = grant(1, 'a')
    await one.fence('room', holder)
    const first = await one.save('room', holder, 'one', { revision: 0, sequence: 7 })
    expect(await other.save('room', holder, 'again', { revision: 0, sequence: 7 })).toEqual(first)
    expect(await one.read('room')).toMatchObject({ content: 'one' })
    expect(await other.save('room', holder, 'two', { sequence: 9 })).toMatchObject({ saved: true })
    for (const sequence of [7, 8])
      expect(await one.save('room', holder, 'held back', { sequence })).toEqual({
        saved: false,
        sequence: 9,
      })
    expect(await one.save('room', holder, 'without')).toMatchObject({ saved: true })
    expect(await one.save('room', holder, 'held back', { sequence: 8 })).toEqual({
      saved: false,
      sequence: 9,
    })
    expect(await other.read('room')).toMatchObject({ content: 'without' })

    await one.remove('room', holder)
    expect(await one.save('room', holder, 'held back', { sequence: 8 })).toEqual({
      saved: false,
      sequence: 9,
    })
    expect(await one.read('room')).toBeNull()

    await other.fence('room', grant(2, 'a'))
    expect(await one.save('room', holder, 'late', { sequence: 10 })).toEqual({
      saved: false,
      fence: grant(2, 'a').token,
    })
    expect(await one.save('room', grant(2, 'a'), 'next turn', { sequence: 1 })).toMatchObject({ saved: true })
  })

  it('are not removed by a late removal of the same grant, and a late save does not bring them back', async () => {
    const open = create()
    const [one, other] = [open(), open()]
    const holder = grant(1, 'a')
    await one.fence('room', holder)
    await one.save('room', holder, 'one', { sequence: 1 })
    await other.save('room', holder, 'three', { sequence: 3 })
    for (const sequence of [2, 3])
      expect(await one.remove('room', holder, { sequence })).toEqual({ removed: false, sequence: 3 })
    expect(await other.read('room')).toMatchObject({ content: 'three' })

    expect(await other.remove('room', holder, { sequence: 6 })).toEqual({ removed: true })
    for (const sequence of [5, 6])
      expect(await one.save('room', holder, 'late', { sequence })).toEqual({
        saved: false,
        sequence: 6,
      })
    expect(await one.read('room')).toBeNull()
    expect(await one.remove('room', holder, { sequence: 4 })).toEqual({ removed: true })
    expect(await one.save('room', holder, 'late', { sequence: 5 })).toEqual({ saved: false, sequence: 6 })

    await one.save('room', holder, 'seven', { sequence: 7 })
    expect(await other.remove('room', holder, { sequence: 6 })).toEqual({ removed: false, sequence: 7 })
    await one.remove('room', null)
    expect(await other.remove('room', holder, { sequence: 9 })).toEqual({ removed: true })
    expect(await one.save('room', holder, 'late', { sequence: 8 })).toEqual({ saved: false, sequence: 9 })
    expect(await one.read('room')).toBeNull()
  })

  it('are the newest ones after saves that arrive in any order at once', async () => {
    const open = create()
    const nodes = [open(), open(), open()]
    const holder = grant(1, 'a')
    await nodes[0]?.fence('room', holder)
    const sequences = [3, 1, 5, 2, 4]
    await Promise.all(
      sequences.map((sequence, n) => nodes[n % 3]?.save('room', holder, sequence, { sequence })),
    )
    expect(await nodes[0]?.read('room')).toMatchObject({ content: 5 })
  })

  it('are answered as in memory, whatever is asked in which order', async () => {
    const store = create()()
    let runs = 0
    const property = fc.asyncProperty(STEPS, async (steps) => {
      expect(await answersOf(store, `room ${++runs}`, steps)).toEqual(
        await answersOf(memoryDocuments(), 'room', steps),
      )
    })
    await checkProperty(property, { numRuns: 25 })
  })

  it('leave no fence behind in rooms where nothing was saved for an hour', async () => {
    const store = create()()
    if (!store.sweep) return
    const old = { token: 10 ** 15, holder: 'a' }
    // As etcd grants them: their number does not tell their age.
    const revision = { token: 1, holder: 'a' }
    await store.fence('empty', old)
    await store.fence('of etcd', revision)
    await store.fence('kept', old)
    await store.fence('recent', grant(1, 'a'))
    await store.save('kept', old, 'text')
    await store.fence('removed', old)
    await store.remove('removed', old, { sequence: 2 })
    await store.sweep()
    expect(await store.save('removed', old, 'late', { sequence: 1 })).toEqual({ saved: false, sequence: 2 })
    // On NATS and etcd the age of a fence is counted from the first sweep on.
    if (backend !== 'NATS' && backend !== 'etcd')
      expect(await store.save('empty', old, '')).toEqual({ saved: false, fence: null })
    expect(await store.read('kept')).toMatchObject({ content: 'text' })
    expect(await store.save('kept', old, 'more')).toMatchObject({ saved: true })
    expect(await store.save('recent', grant(1, 'a'), '')).toMatchObject({ saved: true })
    expect(await store.save('of etcd', revision, '')).toMatchObject({ saved: true })
  })

  it.each<[JsonValue]>([[null], ['text with \u0000 and 🔒'], [{ list: [1, 2.5, 'x'], '"quoted"': true }]])(
    'return %j unchanged',
    async (content) => {
      const store = create()()
      expect(await store.read('room')).toBeNull()
      await store.fence('room', grant(1, 'a'))
      expect(await store.read('room')).toBeNull()
      await store.save('room', grant(1, 'a'), content)
      expect((await store.read('room'))?.content).toEqual(content)
    },
  )

  it('may be larger than a message', async () => {
    const store = create()()
    await store.fence('room', grant(1, 'a'))
    await store.save('room', grant(1, 'a'), `a${LARGE}`)
    await store.save('room', grant(1, 'a'), LARGE)
    expect((await store.read('room'))?.content === LARGE).toBe(true)
  })

  it('are separate for each room, whatever its name', async () => {
    const store = create()()
    const rooms = ['a', 'A', "it's", 'x; drop table y', '部屋', '__proto__', '{a}', 'a.b *>']
    for (const [n, room] of rooms.entries()) await store.fence(room, grant(n, room))
    const saved = await Promise.all(rooms.map((room, n) => store.save(room, grant(n, room), room)))
    expect(saved.every((saving) => saving.saved)).toBe(true)
    const read = await Promise.all(rooms.map((room) => store.read(room)))
    expect(read.map((document) => document?.content)).toEqual(rooms)
  })
})

describe('contents that an earlier version has stored', () => {
  const OLD_ROOM = { fence: grant(1, 'a').token, holder: 'a', revision: 3 }
  const OLD_PART = { id: 'old', parts: 1, token: grant(1, 'a').token, savedAt: 1 }
  const oldRecord = JSON.stringify({ ...OLD_ROOM, saved: OLD_PART })
  const stored: [string, (name: string) => Promise<DocumentStore>][] = [
    [
      'MySQL',
      async (name) => {
        await mysql.query(`create table ${name} (room varbinary(767) not null primary key, fence bigint not null,
          holder varbinary(1024) not null, content longblob, token bigint, saved_at bigint, key (fence))`)
        const { token } = grant(1, 'a')
        await mysql.query(`insert into ${name} values ('room', ${token}, 'a', '"old"', ${token}, 1)`)
        return mysqlDocuments(mysql, { table: name })
      },
    ],
    [
      'NATS',
      async (bucket) => {
        const kv = await new Kvm(nats).create(bucket)
        await kv.put('part.room.old.0', '"old"')
        await kv.put('room.room', oldRecord)
        return natsDocuments(nats, { bucket })
      },
    ],
    [
      'etcd',
      async (prefix) => {
        await etcd.put(`${prefix}part.room.old.0`).value('"old"')
        await etcd.put(`${prefix}room.room`).value(oldRecord)
        return etcdDocuments(etcd, { prefix })
      },
    ],
    [
      'Redis',
      async (prefix) => {
        const { token, holder } = grant(1, 'a')
        await ioRedis.hset(`${prefix}:content:room`, {
          fence: token,
          holder,
          content: '"old"',
          token,
          saved_at: 1,
        })
        return redisDocuments(ioRedis, { prefix })
      },
    ],
  ]
  it.each(stored)(
    'contents that an earlier version has stored in %s are read, and saves get a sequence',
    async (_, open) => {
      const store = await open(place())
      expect(await store.read('room')).toMatchObject({ content: 'old' })
      expect(await store.save('room', grant(1, 'a'), 'two', { sequence: 2 })).toMatchObject({ saved: true })
      expect(await store.save('room', grant(1, 'a'), 'one', { sequence: 1 })).toEqual({
        saved: false,
        sequence: 2,
      })
      await store.check?.()
      expect(await store.read('room')).toMatchObject({ content: 'two' })
    },
  )

  it('contents that an earlier version has stored in MySQL are upgraded by a check, also by several nodes at once', async () => {
    const table = place()
    await mysql.query(`create table ${table} (room varbinary(767) not null primary key, fence bigint not null,
      holder varbinary(1024) not null, content longblob, token bigint, saved_at bigint, key (fence))`)
    await Promise.all([1, 2, 3].map(() => mysqlDocuments(mysql, { table }).check?.()))
    const [columns] = await mysql.query(`show columns from ${table} like 'sequence%'`)
    expect(columns).toHaveLength(2)
  })
})

describe.each(SECRETS)('secrets in %s', (_, create) => {
  it('are the same for all nodes, even if they start at once and again later', async () => {
    const open = create()
    const kept = await Promise.all(['one', 'two', 'three'].map((secret) => open().keep('cookie', secret)))
    expect(new Set(kept).size).toBe(1)
    expect(await open().keep('cookie', 'four')).toBe(kept[0])
    expect(await open().keep('channel', 'five')).toBe('five')
  })
})

describe('a damaged content', () => {
  it.each([
    ['Redis', async (name: string) => void (await ioRedis.hset(`${name}:content:room`, { content: '{' }))],
    [
      'Redis, without a token',
      async (name: string) => void (await ioRedis.hdel(`${name}:content:room`, 'token')),
    ],
  ])('a damaged content in %s is reported, and a save replaces it', async (_, damage) => {
    const name = place()
    const store = redisDocuments(ioRedis, { prefix: name })
    await store.fence('room', grant(1, 'a'))
    await store.save('room', grant(1, 'a'), 'text')
    await damage(name)
    await expect(store.read('room')).rejects.toThrow(UnreadableContent)
    await store.save('room', grant(1, 'a'), 'text')
    expect(await store.read('room')).toMatchObject({ content: 'text' })
  })

  it.each([
    [
      'NATS',
      (bucket: string) => natsDocuments(nats, { bucket }),
      async (bucket: string, text: string) =>
        void (await (await new Kvm(nats).open(bucket)).put('room.room', text)),
    ],
    [
      'etcd',
      (prefix: string) => etcdDocuments(etcd, { prefix }),
      async (prefix: string, text: string) => void (await etcd.put(`${prefix}room.room`).value(text)),
    ],
  ])(
    'a damaged content in %s is reported, and stays until a save or a deletion replaces it',
    async (_, open, damage) => {
      const name = place()
      const store = open(name)
      await store.fence('room', grant(1, 'a'))
      await store.save('room', grant(1, 'a'), 'text')
      await damage(name, '{"fence":"?"}')
      await expect(store.read('room')).rejects.toThrow(UnreadableContent)
      // The holder before the damage is told to ask again, and the next grant leaves what is there.
      expect(await store.save('room', grant(1, 'a'), 'text')).toEqual({ saved: false, fence: null })
      expect(await store.fence('room', grant(2, 'b'))).toBe(true)
      expect(await store.fence('room', grant(1, 'a'))).toBe(false)
      await expect(store.read('room')).rejects.toThrow(UnreadableContent)
      expect(await store.save('room', grant(1, 'a'), 'text')).toEqual({
        saved: false,
        fence: grant(2, 'b').token,
      })
      expect(await store.save('room', grant(2, 'b'), 'text', { revision: 0 })).toEqual({
        saved: false,
        revision: expect.any(Number),
      })
      await expect(store.read('room')).rejects.toThrow(UnreadableContent)
      expect(await store.save('room', grant(2, 'b'), 'new text')).toMatchObject({ saved: true })
      expect(await store.read('room')).toMatchObject({ content: 'new text' })
      await damage(name, JSON.stringify({ fence: grant(2, 'b').token, holder: 'b' }))
      expect(await store.save('room', grant(2, 'b'), 'newer text')).toMatchObject({ saved: true })
      await damage(name, '')
      expect(await store.remove('room', null)).toEqual({ removed: true })
      expect(await store.read('room')).toBeNull()
    },
  )

  it('a damaged content in etcd may have lost a part', async () => {
    const prefix = place()
    const store = etcdDocuments(etcd, { prefix })
    await store.fence('room', grant(1, 'a'))
    await store.save('room', grant(1, 'a'), LARGE)
    const keys = await etcd.getAll().prefix(`${prefix}part.room.`).keys()
    await etcd.delete().key(keys.at(-1) ?? '')
    await expect(store.read('room').then(() => 'read')).rejects.toThrow(UnreadableContent)
  })

  it('a damaged content in NATS may have lost a part', async () => {
    const bucket = place()
    const store = natsDocuments(nats, { bucket })
    await store.fence('room', grant(1, 'a'))
    await store.save('room', grant(1, 'a'), LARGE)
    const kv = await new Kvm(nats).open(bucket)
    const keys: string[] = []
    for await (const key of await kv.keys('part.room.*.1')) keys.push(key)
    expect(keys).toHaveLength(1)
    await kv.purge(keys[0] ?? '')
    await expect(store.read('room').then(() => 'read')).rejects.toThrow(UnreadableContent)
  })
})

describe('contents in etcd, with a client that repeats requests whose answers were lost', () => {
  it('contents in etcd, with a client that repeats requests whose answers were lost are saved, and are still there after the fence was raised meanwhile', async () => {
    const prefix = place()
    const other = etcdDocuments(etcd, { prefix })
    const store = etcdDocuments(afterLostAnswers(etcd), { prefix })
    await store.fence('room', grant(1, 'a'))
    const saving = await store.save('room', grant(1, 'a'), 'text', { revision: 0 })
    expect(saving).toMatchObject({ saved: true, revision: (await other.read('room'))?.revision })
    expect(await other.read('room')).toMatchObject({ content: 'text' })
    expect(await store.remove('room', grant(1, 'a'))).toEqual({ removed: true })
    expect(await other.read('room')).toBeNull()

    // Between the two requests, the lock changes hands.
    const raise = () => other.fence('room', grant(2, 'b'))
    const late = etcdDocuments(afterLostAnswers(etcd, raise), { prefix })
    expect(await late.save('room', grant(1, 'a'), 'again')).toMatchObject({ saved: true })
    expect(await other.read('room')).toMatchObject({ content: 'again', token: grant(1, 'a').token })
    expect(await late.save('room', grant(1, 'a'), 'too late')).toEqual({
      saved: false,
      fence: grant(2, 'b').token,
    })
  })
})

describe.each(AUDITS)('the audit trail in %s', (_, audit) => {
  it('is read from the newest entry on, in pages, and by resource', async () => {
    const log = audit()
    for (let n = 1; n <= 5; n++) await log.append(entry(n, n % 2 ? 'odd' : 'even'))
    const first = await log.read({ limit: 2 })
    expect(tokens(first.entries)).toEqual([5, 4])
    const second = await log.read({ limit: 2, before: first.next ?? 0 })
    expect(tokens(second.entries)).toEqual([3, 2])
    expect(await log.read({ limit: 2, before: second.next ?? 0 })).toEqual({ entries: [entry(1, 'odd')] })
    expect(tokens((await log.read({ limit: 9, resource: 'even' })).entries)).toEqual([4, 2])
  })

  it('is limited: the oldest entries are deleted', async () => {
    const log = audit()
    for (let n = 1; n <= 400; n++) await log.append(entry(n, 'a'))
    const { entries } = await log.read({ limit: 1000 })
    expect(entries.length).toBeLessThanOrEqual(MAX_ENTRIES)
    expect(entries[0]?.token).toBe(400)
    const older = await log.read({ limit: 1000, before: 400, resource: 'a' })
    expect(older.entries.map(({ token }) => token)).toEqual(
      Array.from({ length: older.entries.length }, (_, n) => 399 - n),
    )
  })

  it('keeps every entry that nodes append at once', async () => {
    const log = audit()
    await Promise.all(Array.from({ length: 100 }, (_, n) => log.append(entry(n, 'a'))))
    const { entries } = await log.read({ limit: 200 })
    expect(tokens(entries).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n))
  })
})

describe('an entry of the audit trail that cannot be read', () => {
  it('an entry of the audit trail that cannot be read in Redis is skipped and reported by its number', async () => {
    const prefix = place()
    const log = redisAudit(ioRedis, { prefix })
    await log.append(entry(1, 'a'))
    await ioRedis.xadd(`${prefix}:audit`, '2-0', 'resource', 'a', 'entry', '{"at":')
    await log.append(entry(3, 'a'))
    expect(await log.read({ limit: 9 })).toEqual({ entries: [entry(3, 'a'), entry(1, 'a')], damaged: [2] })
  })

  it('an entry of the audit trail that cannot be read in etcd is skipped and reported by its number', async () => {
    const prefix = place()
    const log = etcdAudit(etcd, { prefix })
    for (let n = 1; n <= 3; n++) await log.append(entry(n, 'a'))
    await etcd.put(`${prefix}audit.2`).value('{')
    expect(await log.read({ limit: 9 })).toEqual({ entries: [entry(3, 'a'), entry(1, 'a')], damaged: [2] })
    await etcd.put(`${prefix}audit.head`).value('seven')
    await expect(log.append(entry(4, 'a'))).rejects.toThrow('cannot be read')
  })

  it('an entry of the audit trail that cannot be read in NATS is skipped and reported by its number', async () => {
    const bucket = place()
    const log = natsAudit(nats, { bucket })
    for (let n = 1; n <= 3; n++) await log.append(entry(n, 'a'))
    const kv = await new Kvm(nats).open(bucket)
    await kv.put('audit.2', '{"number":2,"entry":"{"}')
    expect(await log.read({ limit: 9 })).toEqual({ entries: [entry(3, 'a'), entry(1, 'a')], damaged: [2] })
    await kv.put('audit.head', 'seven')
    await expect(log.append(entry(4, 'a'))).rejects.toThrow('cannot be read')
  })
})

function at<T>(openAt: (name: string) => T): () => T {
  const name = place()
  return () => openAt(name)
}

function once<T>(open: () => T): () => T {
  const opened = open()
  return () => opened
}

function grant(number: number, holder: string) {
  return { token: NOON + number, holder }
}

function entry(token: number, resource: string): AuditEntry {
  return { at: new Date(NOON / 1000).toISOString(), action: 'lock', resource, token, owner: 'someone' }
}

function tokens(entries: readonly AuditEntry[]): number[] {
  return entries.map(({ token }) => token)
}
