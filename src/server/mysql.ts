/** Contents, audit trail and secrets in tables of MySQL or MariaDB. Texts are bytes of UTF-8, as in the lease store. */
import { expectOptions, expectWhole } from '../base/arguments.ts'
import {
  bytes,
  MYSQL_CLOCK,
  type MysqlClient,
  type MysqlDatabase,
  type MysqlRow,
  mysqlDatabase,
  mysqlName,
  mysqlText,
} from '../clients/mysql.ts'
import { isDuplicateColumn, isMissing, isMissingColumn, mysqlError } from '../clients/mysql-errors.ts'
import { Calls } from '../stores/local/calls.ts'
import { type AuditLog, pageOf, parseEntry } from './audit.ts'
import {
  type Changed,
  type DocumentStore,
  FIRST_TIME_TOKEN,
  type RequestedChange,
  removalOf,
  savedDocument,
  savingOf,
  unchangedRow,
} from './documents.ts'
import {
  AUDIT_ENTRIES,
  DELETE_ENTRIES_AT_ONCE,
  DELETE_ENTRIES_EVERY,
  KEEP_FENCE_MS,
  type SqlAuditOptions,
  type SqlDocumentsOptions,
  type SqlSecretsOptions,
} from './options.ts'
import type { SecretStore } from './secrets.ts'
import { checkTable } from './sql.ts'

/** Milliseconds since 1970, by the server's clock, whatever the time zone. */
const NOW = `(${MYSQL_CLOCK} div 1000)`
const NAME = 'varbinary(767) not null'
/** The revision of a row: the time of its save, made unique. After a removal, `saved_at` is the time of that. */
const REVISION = 'if(content is null, 0, saved_at)'
/** `sequence` is the highest one of the grant `sequence_token`. Earlier versions neither set nor reset them. */
const IS_SEQUENCED = 'coalesce(sequence_token, -1) = fence'

/**
 * Contents in a table of MySQL. It uses your client and leaves it open.
 *
 * @example
 * const server = await createLockServer({ store: mysqlStore(pool), documents: mysqlDocuments(pool) })
 */
export function mysqlDocuments(client: MysqlClient, options: SqlDocumentsOptions = {}): DocumentStore {
  expectOptions(options, { table: 1 })
  const table = tableOf(
    client,
    options.table ?? 'holdfast_documents',
    `room ${NAME} primary key, fence bigint not null, holder varbinary(1024) not null, content longblob, token bigint,
      saved_at bigint, sequence bigint, sequence_token bigint, key (fence)`,
    {
      added: ['sequence bigint', 'sequence_token bigint'],
      // No room has this name.
      trial: (table) => [
        `replace into ${table} (room, fence, holder) values ('', 0, '')`,
        `delete from ${table} where room = ''`,
      ],
    },
  )

  const { name, rows, change, check } = table
  return {
    check,
    async fence(room, { token, holder }) {
      for (;;) {
        const at = `room = ${bytes(room)}`
        const raised = await change(
          `update ${name} set fence = ${token}, holder = ${bytes(holder)} where ${at} and fence < ${token}`,
        )
        if (raised.affectedRows > 0) return true
        const made = await change(
          `insert ignore into ${name} (room, fence, holder) values (${bytes(room)}, ${token}, ${bytes(holder)})`,
        )
        if (made.affectedRows > 0) return true
        const [row] = await rows(`select fence from ${name} where ${at}`)
        const { fence = -1 } = row ?? {}
        // Otherwise another grant, an older one, came between the two statements.
        if (Number(fence) >= token) return false
      }
    },
    async read(room) {
      const [row] = await rows(`select content, token, saved_at from ${name} where room = ${bytes(room)}`)
      const { content = null, token, saved_at } = row ?? {}
      if (content === null) return null
      return savedDocument(room, mysqlText(content), { token, savedAt: saved_at, revision: saved_at })
    },
    save: async (room, grant, content, conditions) =>
      savingOf(await changeContent(table, room, { ...conditions, grant, content: JSON.stringify(content) })),
    remove: async (room, grant, conditions) =>
      removalOf(
        await changeContent(table, room, { ...conditions, grant, content: null }),
        conditions?.revision,
      ),
    async sweep() {
      await change(`delete from ${name} where content is null and fence >= ${FIRST_TIME_TOKEN}
        and fence < (${NOW} - ${KEEP_FENCE_MS}) * 1000
        and coalesce(saved_at, 0) < ${NOW} - ${KEEP_FENCE_MS} limit ${DELETE_ENTRIES_AT_ONCE}`)
    },
  }
}

/** Sets the content (`null`: none) if the fence and the revision are as expected. */
async function changeContent(
  { name, rows, change }: MysqlTable,
  room: string,
  { grant, content, revision, sequence }: RequestedChange,
): Promise<Changed> {
  const savedAt = `saved_at = last_insert_id(if(saved_at >= ${NOW}, saved_at + 1, ${NOW}))`
  const values =
    content === null ? 'content = null, token = null' : `content = ${bytes(content)}, token = fence`
  const conditions = [
    `room = ${bytes(room)}`,
    ...(grant ? [`fence = ${grant.token}`, `holder = ${bytes(grant.holder)}`] : []),
    ...(revision === undefined ? [] : [`${REVISION} = ${revision}`]),
    ...(sequence === undefined ? [] : [`(not ${IS_SEQUENCED} or sequence < ${sequence})`]),
  ]
  const sequenced = sequence === undefined ? '' : `, sequence = ${sequence}, sequence_token = fence`
  const { affectedRows, insertId } = await change(
    `update ${name} set ${values}, ${savedAt}${sequenced} where ${conditions.join(' and ')}`,
  )
  if (affectedRows > 0) return { savedAt: insertId }
  const [row] = await rows(
    `select fence, holder, saved_at, ${REVISION} as revision, if(${IS_SEQUENCED}, sequence, null) as sequence
      from ${name} where room = ${bytes(room)}`,
  )
  const { fence = null, holder } = row ?? {}
  const isFenced =
    grant !== null && (Number(fence) !== grant.token || fence === null || mysqlText(holder) !== grant.holder)
  if (isFenced) return { fence: fence === null ? null : Number(fence) }
  return unchangedRow(content === null ? 'remove' : 'save', sequence, row)
}

/**
 * The audit trail in a table of MySQL, one for all nodes. It uses your client and leaves it open.
 *
 * @example
 * const service = await createLockServer({ store, documents: mysqlDocuments(pool), audit: mysqlAudit(pool) })
 */
export function mysqlAudit(client: MysqlClient, options: SqlAuditOptions = {}): AuditLog {
  expectOptions(options, { table: 1, maxEntries: 1 })
  const { maxEntries = AUDIT_ENTRIES } = options
  expectWhole('maxEntries', maxEntries, 1)
  const { name, rows, change, check } = tableOf(
    client,
    options.table ?? 'holdfast_audit',
    `number bigint auto_increment primary key, resource ${NAME}, entry longblob not null, key (resource, number)`,
  )
  return {
    check,
    async append(entry) {
      const { insertId } = await change(
        `insert into ${name} (resource, entry) values (${bytes(entry.resource)}, ${bytes(JSON.stringify(entry))})`,
      )
      if (insertId % DELETE_ENTRIES_EVERY === 0)
        await change(`delete from ${name} where number <= ${insertId - maxEntries}`)
    },
    async read({ limit, before = Number.MAX_SAFE_INTEGER, resource }) {
      const about = resource === undefined ? '' : `and resource = ${bytes(resource)}`
      const found = await rows(
        `select number, entry from ${name} where number < ${before} ${about} order by number desc limit ${limit + 1}`,
      )
      const entries = found.map(({ number, entry }) => ({
        number: Number(number),
        entry: parseEntry(mysqlText(entry)),
      }))
      return pageOf(entries, limit)
    },
  }
}

/**
 * Secrets that all nodes share. Everybody who may read the table can read them.
 *
 * @example
 * const service = await createLockServer({ store, documents: mysqlDocuments(pool), secrets: mysqlSecrets(pool) })
 */
export function mysqlSecrets(client: MysqlClient, options: SqlSecretsOptions = {}): SecretStore {
  expectOptions(options, { table: 1 })
  const { name, rows, change, check } = tableOf(
    client,
    options.table ?? 'holdfast_secrets',
    `name ${NAME} primary key, secret blob not null`,
  )
  return {
    check,
    async keep(secretName, secret) {
      await change(`insert ignore into ${name} values (${bytes(secretName)}, ${bytes(secret)})`)
      const [row] = await rows(`select secret from ${name} where name = ${bytes(secretName)}`)
      const { secret: kept = '' } = row ?? {}
      return mysqlText(kept)
    },
  }
}

/** A table that is created when it is missing. */
export interface MysqlTable {
  /** Quoted. */
  readonly name: string
  rows(sql: string): Promise<readonly MysqlRow[]>
  change: MysqlDatabase['change']
  /** Rejects if the table cannot be read and written. */
  check(): Promise<void>
}

export interface MysqlTableOptions {
  readonly calls?: Calls | undefined
  /** The definitions of columns that tables of earlier versions lack. */
  readonly added?: readonly string[] | undefined
  /** Statements that write something and leave nothing behind, so that a check notices a full disk. */
  readonly trial?: ((table: string) => readonly string[]) | undefined
}

export function tableOf(
  client: MysqlClient,
  table: string,
  columns: string,
  {
    calls = new Calls({ backend: 'MySQL', explain: mysqlError }),
    added = [],
    trial = () => [],
  }: MysqlTableOptions = {},
): MysqlTable {
  const database = mysqlDatabase(client)
  const name = checkTable(table).split('.').map(mysqlName).join('.')
  const creating = <T>(work: () => Promise<T>): Promise<T> =>
    calls.run(async () => {
      try {
        return await work()
      } catch (error) {
        if (isMissing(error))
          await database.query(`create table if not exists ${name} (${columns}) engine = InnoDB`)
        else if (isMissingColumn(error)) await addColumns()
        else throw error
        return work()
      }
    })
  /** Another node may have added them in the meantime. MySQL knows no `if not exists` here. */
  const addColumns = async () => {
    for (const column of added)
      await database.query(`alter table ${name} add column ${column}`).catch((error: unknown) => {
        if (!isDuplicateColumn(error)) throw error
      })
  }
  return {
    name,
    rows: (sql) => creating(async () => (await database.query(sql)).flat()),
    change: (sql) => creating(() => database.change(sql)),
    check: () =>
      creating(async () => {
        const names = added.map((column) => column.split(' ')[0])
        await database.query(`select ${['1', ...names].join(', ')} from ${name} limit 1`)
        // It changes nothing, but needs the right. `sql_safe_updates` asks for a column and a limit.
        const [first = ''] = columns.split(' ')
        await database.query(`delete from ${name} where ${first} is null and false limit 1`)
        for (const statement of trial(name)) await database.change(statement)
      }),
  }
}
