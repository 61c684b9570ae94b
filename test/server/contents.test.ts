import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../src/protocol/index.ts'
import {
  type AuditLog,
  type DocumentStore,
  memoryAudit,
  memoryDocuments,
  postgresAudit,
  postgresDocuments,
} from '../../src/server/index.ts'
import { openSqlite, sqliteAudit, sqliteDocuments } from '../../src/server/node/index.ts'

const { HOLDFAST_TEST_POSTGRES_URL: serverUrl = '' } = process.env
const directory = mkdtempSync(join(tmpdir(), 'holdfast-contents-'))
const pool = new pg.Pool({ connectionString: serverUrl, max: 4 })
const sql = postgres(serverUrl, { max: 2, onnotice: () => {} })
const database = openSqlite(join(directory, 'holdfast.db'))
afterAll(async () => {
  await Promise.all([pool.end(), sql.end()])
  database.close()
  rmSync(directory, { recursive: true })
})

const MAX_ENTRIES = 150
let tables = 0
const table = () => ({ table: `contents_${++tables}` })

const BACKENDS: readonly (readonly [string, () => DocumentStore, () => AuditLog])[] = [
  ['memory', () => memoryDocuments(), () => memoryAudit(MAX_ENTRIES)],
  [
    'SQLite',
    () => sqliteDocuments(database, table()),
    () => sqliteAudit(database, { ...table(), maxEntries: MAX_ENTRIES }),
  ],
  [
    'pg',
    () => postgresDocuments(pool, table()),
    () => postgresAudit(pool, { ...table(), maxEntries: MAX_ENTRIES }),
  ],
  [
    'postgres.js',
    () => postgresDocuments(sql, table()),
    () => postgresAudit(sql, { ...table(), maxEntries: MAX_ENTRIES }),
  ],
]
const NOON = Date.UTC(2030, 0, 1, 12) * 1000

describe.each(BACKENDS)('contents in %s', (_, documents) => {
  it('are saved only for the holder of the latest grant', async () => {
    const store = documents()
    const [first, second] = [grant(1, 'a'), grant(2, 'b')]
    expect(await store.save('room', first, 'early')).toEqual({ saved: false, fence: null })
    expect(await store.fence('room', first)).toBe(true)
    expect(await store.fence('room', first)).toBe(false)
    expect(await store.save('room', first, 'by a')).toMatchObject({
      saved: true,
      savedAt: expect.any(Number),
    })
    expect(await store.save('room', { ...first, holder: 'x' }, 'forged')).toEqual({
      saved: false,
      fence: first.token,
    })
    expect(await store.fence('room', second)).toBe(true)
    expect(await store.save('room', first, 'late')).toEqual({ saved: false, fence: second.token })
    expect(await store.fence('room', first)).toBe(false)
    expect(await store.read('room')).toMatchObject({ content: 'by a', token: first.token })
    await store.save('room', second, 'by b')
    expect(await store.read('room')).toMatchObject({ content: 'by b', token: second.token })
  })

  it.each([[null], ['text with \u0000 and 🔒'], [{ list: [1, 2.5, 'x'], '"quoted"': true }]])(
    'return %j unchanged',
    async (content) => {
      const store = documents()
      expect(await store.read('room')).toBeNull()
      await store.fence('room', grant(1, 'a'))
      expect(await store.read('room')).toBeNull()
      await store.save('room', grant(1, 'a'), content)
      expect((await store.read('room'))?.content).toEqual(content)
    },
  )

  it('are separate for each room, whatever its name', async () => {
    const store = documents()
    const rooms = ['a', 'A', "it's", 'x; drop table y', '部屋', '__proto__']
    for (const [n, room] of rooms.entries()) await store.fence(room, grant(n, room))
    const saved = await Promise.all(rooms.map((room, n) => store.save(room, grant(n, room), room)))
    expect(saved.every((saving) => saving.saved)).toBe(true)
    const read = await Promise.all(rooms.map((room) => store.read(room)))
    expect(read.map((document) => document?.content)).toEqual(rooms)
  })
})

describe.each(BACKENDS)('the audit trail in %s', (_, __, audit) => {
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
  })
})

function grant(number: number, holder: string) {
  return { token: NOON + number, holder }
}

function entry(token: number, resource: string): AuditEntry {
  return { at: new Date(NOON / 1000).toISOString(), action: 'lock', resource, token, owner: 'someone' }
}

function tokens(entries: readonly AuditEntry[]): number[] {
  return entries.map(({ token }) => token)
}
