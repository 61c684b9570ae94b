import { describe, expect, it } from 'vitest'
import { expectRefusal, FOREIGN } from '../../test/server/expect-refusal.ts'
import { postgresError } from '../clients/postgres-errors.ts'
import { postgresAudit, postgresBus, postgresDocuments } from './index.ts'
import { openSqlite, sqliteAudit, sqliteDocuments } from './node/index.ts'

/** Errors of Postgres, and whether the same call may succeed later. */
const ERRORS: readonly (readonly [title: string, error: unknown, retryable: boolean])[] = [
  ['a lock timeout', coded('55P03'), true],
  ['a deadlock', coded('40P01'), true],
  ['a refused connection', coded('ECONNREFUSED'), true],
  ['a query timeout of pg, without a code', new Error('Query read timeout'), true],
  ['an ended client of postgres', coded('CONNECTION_ENDED'), false],
  ['an ended pool, without a code', new Error('Cannot use a pool after calling end on the pool'), false],
  ['another error without a code', new Error('oops'), false],
  ['a missing permission', coded('42501'), false],
]

const ENTRY = { at: '', action: 'lock', resource: 'r', token: 1, owner: 'o' } as const

describe('an error of Postgres', () => {
  it.each(ERRORS)(
    'an error of Postgres means the same in every part of the server: %s',
    async (_, error, retryable) => {
      const client = poolThatFailsWith(error)
      const verdict = { code: postgresError(error).code, retryable, cause: error }
      await expect(postgresDocuments(client).read('room')).rejects.toMatchObject(verdict)
      await expect(postgresAudit(client).append(ENTRY)).rejects.toMatchObject(verdict)
      await expect(postgresBus(client).publish({ topic: 'a', data: {} })).rejects.toMatchObject(verdict)
    },
  )

  it.each(['23505', '42P07', '42710'])(
    'an error that says that another node created the table, %s, is ignored',
    async (code) => {
      const client = poolThatFailsWith(coded(code), (text) => text.startsWith('create'))
      expect(await postgresDocuments(client).read('room')).toBeNull()
    },
  )

  it('an error of Postgres while the table is created does not stop the next call', async () => {
    let failures = 1
    const client = poolThatFailsWith(coded('57P03'), () => failures-- > 0)
    await expect(postgresDocuments(client).read('room')).rejects.toMatchObject({ retryable: true })
    const documents = postgresDocuments(client)
    failures = 1
    await expect(documents.read('room')).rejects.toMatchObject({ retryable: true })
    expect(await documents.read('room')).toBeNull()
  })
})

const POOL = poolThatFailsWith(undefined)
const DATABASE = openSqlite(':memory:')

it.each([
  ['postgresDocuments', 'client', (client: unknown) => postgresDocuments(client as never)],
  ['postgresAudit', 'client', (client: unknown) => postgresAudit(client as never)],
  ['sqliteDocuments', 'database', (database: unknown) => sqliteDocuments(database as never)],
  ['sqliteAudit', 'database', (database: unknown) => sqliteAudit(database as never)],
])('%s refuses a foreign %s, and does not show a password', async (_, option, make) => {
  for (const foreign of [...FOREIGN, undefined, {}, () => {}])
    if (option !== 'database' || typeof foreign !== 'string') await expectRefusal(() => make(foreign), option)
  expect(() => make('postgres://a:secret@b')).toThrow(/^(?!.*secret)/)
})

it.each([
  ['options', null],
  ['table', { table: 'a b' }],
  ['table', { table: 10n }],
  ['table', { table: '1a' }],
])('documents refuse bad %s: %#', async (option, options) => {
  await expectRefusal(() => postgresDocuments(POOL, options as never), option)
  await expectRefusal(() => sqliteDocuments(DATABASE, options as never), option)
})

it.each([
  ['options', 'x'],
  ['table', { table: '' }],
  ['maxEntries', { maxEntries: 0 }],
  ['maxEntries', { maxEntries: 10n }],
])('audit trails refuse bad %s: %#', async (option, options) => {
  await expectRefusal(() => postgresAudit(POOL, options as never), option)
  await expectRefusal(() => sqliteAudit(DATABASE, options as never), option)
})

it('openSqlite refuses what is not a path, and says what is wrong with the file', async () => {
  for (const foreign of [null, 10n, {}, '']) await expectRefusal(() => openSqlite(foreign as never), 'path')
  // A directory, not a file.
  const path = import.meta.dirname
  expect(() => openSqlite(path)).toThrow(
    expect.objectContaining({
      code: 'store-failed',
      message: expect.stringContaining(`the database ${path}: `),
    }),
  )
})

function poolThatFailsWith(error: unknown, isFailing: (text: string) => boolean = () => true) {
  return {
    totalCount: 0,
    options: {},
    Client: class {},
    connect: async () => {},
    async query({ text }: { readonly text: string }) {
      if (isFailing(text)) throw error
      return { rows: [] }
    },
  }
}

function coded(code: string): Error {
  return Object.assign(new Error(`message of ${code}`), { code })
}
