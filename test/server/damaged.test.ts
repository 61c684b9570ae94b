import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { asLeaseError } from '../../src/base/errors.ts'
import type { LeaseStore } from '../../src/core/index.ts'
import { keyValueDocuments } from '../../src/server/key-value-documents.ts'
import type { KeyValues, StoredText } from '../../src/server/key-values.ts'
import { openSqlite, sqliteAudit, sqliteDocuments } from '../../src/server/node/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { eventually } from '../eventually.ts'
import { ADMIN_TOKEN, type Browser, type ServiceBed, serviceBed } from './service-bed.ts'

const DOCUMENT = '/api/documents/room-1'
const LOCK = `${DOCUMENT}/lock`

let directory: string
let database: DatabaseSync
let store: LeaseStore
let bed: ServiceBed
let holder: Browser
let logged: object[]
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-damaged-'))
  const path = join(directory, 'holdfast.db')
  database = openSqlite(path)
  store = sqliteStore(path)
  logged = []
  bed = await serviceBed({
    store,
    documents: sqliteDocuments(database),
    audit: sqliteAudit(database),
    clientOf: () => 'a client',
    log(level, message, fields) {
      if (level !== 'info') logged.push({ level, message, ...fields })
    },
  })
  holder = bed.browser('holder')
})
afterEach(async () => {
  await bed[Symbol.asyncDispose]()
  await store.close()
  database.close()
  rmSync(directory, { recursive: true })
})

const damage = (statement: string) => database.exec(statement)

describe('a damaged entry of the audit trail', () => {
  const trail = async () => {
    const { status, body } = await bed.program(ADMIN_TOKEN).call('GET', '/api/audit')
    return { status, actions: body.entries.map(({ action }) => action) }
  }

  it.each([
    ['is not JSON', '{"at":'],
    ['is of another version', '{"happened":"lock"}'],
  ])('a damaged entry of the audit trail that %s is skipped, with one warning', async (_, entry) => {
    await holder.call('POST', LOCK)
    await holder.call('DELETE', LOCK)
    await holder.call('POST', LOCK)
    await eventually(async () => expect((await trail()).actions).toEqual(['lock', 'unlock', 'lock']))
    damage(`update holdfast_audit set entry = '${entry}' where number = 2`)
    for (let n = 0; n < 2; n++) expect(await trail()).toEqual({ status: 200, actions: ['lock', 'lock'] })
    expect(logged).toEqual([expect.objectContaining({ level: 'warn', message: 'audit', numbers: [2] })])
  })
})

describe('a damaged document', () => {
  it.each([
    ['not JSON', `content = '{"text":'`],
    ['bytes', `content = x'ff00'`],
    ['without a token', 'token = null'],
    ['without a time', `saved_at = 'noon'`],
  ])(
    'a damaged document that is %s is an error, until a save or a deletion replaces it',
    async (_, change) => {
      const { token } = (await holder.call('POST', LOCK)).body
      await holder.call('PUT', DOCUMENT, { content: 'first', token })
      damage(`update holdfast_documents set ${change}`)
      const answer = await bed.browser().call('GET', DOCUMENT)
      expect([answer.status, answer.body.error]).toEqual([409, 'content_unreadable'])
      expect(answer.body.message).toMatch(/cannot be read.*a save or a deletion replaces it/)
      expect(logged).toEqual([expect.objectContaining({ level: 'error', message: 'content' })])
      expect((await holder.call('PUT', DOCUMENT, { content: 'second', token })).status).toBe(200)
      expect((await holder.call('GET', DOCUMENT)).body).toMatchObject({ content: 'second', token })
    },
  )
})

describe('a damaged record of a room in keys and values', () => {
  it('a damaged record of a room in keys and values says the same to all readers, and the room can be locked, saved and deleted', async () => {
    const values = memoryValues()
    await using keyed = await serviceBed({ documents: keyValueDocuments(values) })
    const [writer, reader] = [keyed.browser('writer'), keyed.browser('reader')]
    const { token } = (await writer.call('POST', LOCK)).body
    const unreadable = async () => (await reader.call('GET', DOCUMENT)).body.error
    const breakRecord = async () => {
      expect((await writer.call('PUT', DOCUMENT, { content: 'text', token })).status).toBe(200)
      await values.put('room.room-1', '{"fence":')
      expect(await unreadable()).toBe('content_unreadable')
    }
    await breakRecord()
    for (const method of ['POST', 'PUT']) expect((await writer.call(method, LOCK)).status).toBe(200)
    expect(await unreadable()).toBe('content_unreadable')
    expect((await writer.call('PUT', DOCUMENT, { content: 'new', token })).status).toBe(200)
    expect((await reader.call('GET', DOCUMENT)).body).toMatchObject({ content: 'new' })
    await breakRecord()
    expect((await writer.call('DELETE', DOCUMENT)).status).toBe(200)
    expect((await reader.call('GET', DOCUMENT)).body).toMatchObject({ content: null })
    await breakRecord()
    expect((await keyed.program(ADMIN_TOKEN).call('DELETE', DOCUMENT)).status).toBe(200)
    expect((await reader.call('GET', DOCUMENT)).body).toMatchObject({ content: null })
    expect((await writer.call('PUT', DOCUMENT, { content: 'again', token })).status).toBe(200)
  })
})

/** The part of NATS and etcd that contents need. */
function memoryValues(): KeyValues {
  const texts = new Map<string, StoredText>()
  let last = 0
  const put = (key: string, text: string) => {
    texts.set(key, { text, revision: ++last })
    return last
  }
  return {
    backend: 'memory',
    explain: asLeaseError,
    get: async (key) => texts.get(key) ?? null,
    put: async (key, text) => put(key, text),
    async compareAndPut(key, text, expected) {
      return (texts.get(key)?.revision ?? null) === expected && put(key, text) > 0
    },
    async remove(key, revision) {
      if ((texts.get(key)?.revision ?? 0) <= revision) texts.delete(key)
    },
    async *list() {},
  }
}

describe('a damaged lease', () => {
  it('a damaged lease cannot be acquired until it is repaired', async () => {
    await holder.call('POST', LOCK)
    damage(`update holdfast_leases set metadata = 'Mika'`)
    const other = bed.browser('other')
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const { status, body } = await other.call(method, LOCK)
      expect([method, status, body.error]).toEqual([method, 500, 'store_failed'])
    }
    expect(logged).toContainEqual(
      expect.objectContaining({
        level: 'error',
        error: expect.stringContaining('the row of document:room-1'),
      }),
    )
    damage('update holdfast_leases set metadata = null')
    expect((await other.call('GET', LOCK)).body).toMatchObject({ is_locked: true })
  })
})
