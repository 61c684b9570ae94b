import type { PostgresDatabase, SqlValue } from '../../clients/postgres.ts'
import { literal } from '../../clients/sql-text.ts'
import type {
  Answer,
  Ask,
  LeaseRecord,
  ListQuery,
  ReleaseAsk,
  Released,
  RenewAsk,
  Renewal,
  WaitingQuery,
  WaitingQueue,
} from '../../core/index.ts'
import type { Names } from './names.ts'

export type Queries = ReturnType<typeof queriesOf>

/** The functions that the migrations install. Each call is one statement. */
export function queriesOf(
  database: PostgresDatabase,
  { table, fn }: Names,
  urgent: Pick<PostgresDatabase, 'query'> = database,
) {
  const call = (name: string, parameters: number, client: typeof urgent = database) => {
    const marks = Array.from({ length: parameters }, (_, n) => `$${n + 1}`)
    const text = `select ${fn(name)}(${marks.join(', ')}) as answer`
    return async (...values: readonly SqlValue[]) =>
      JSON.parse((await answerOf(client, text, values)) ?? 'null')
  }
  const acquire = call('acquire', 8)
  const renew = call('renew', 3, urgent)
  const release = call('release', 3, urgent)
  const abandon = call('abandon', 2)
  const read = call('read', 1)
  const list = call('list', 3)
  const waiting = call('waiting', 2)
  const sweep = call('sweep', 1)
  const register = call('hear', 2)
  const probe = call('probe', 3)
  const watch = call('watch', 0)
  const writers = `select coalesce(json_agg(virtualtransaction), '[]')::text as answer from pg_locks
    where relation = to_regclass(${literal(table)}) and mode = 'RowExclusiveLock' and pid <> pg_backend_pid()
      and database = (select oid from pg_database where datname = current_database())`

  return {
    /** `address`: where the caller receives notifications. */
    async acquire(ask: Ask, address: string): Promise<Answer> {
      const { resource, id, owner, ttl, metadata, wake, replace = null } = ask
      const json = metadata ? JSON.stringify(metadata) : null
      const { replaced, ...answer } = await acquire(resource, id, owner, ttl, json, address, !!wake, replace)
      return replaced ? { ...answer, replaced } : answer
    },
    renew: ({ resource, id, ttl }: RenewAsk): Promise<Renewal> => renew(resource, id, ttl),
    release: (ask: ReleaseAsk): Promise<Released> =>
      'id' in ask ? release(ask.resource, ask.id, null) : release(ask.resource, null, ask.token),
    /** Gives back the place of a waiter that has gone, but never a lease. */
    abandon: (resource: string, id: string): Promise<void> => abandon(resource, id),
    read: (resources: readonly string[]): Promise<LeaseRecord[][]> => read(JSON.stringify(resources)),
    waiting: ({ resources, limit }: WaitingQuery): Promise<WaitingQueue[]> =>
      waiting(JSON.stringify(resources), limit),
    list: ({ prefix = '', after = '', limit }: ListQuery): Promise<LeaseRecord[]> =>
      list(prefix, after, limit),
    sweep: (limit: number): Promise<LeaseRecord[]> => sweep(limit),
    /** Notifies these holders at the address from now on. Resolves with the ids that hold their leases no longer. */
    register: (leases: readonly LeaseRecord[], address: string): Promise<string[]> =>
      register(JSON.stringify(leases.map(({ resource, id }) => ({ resource, id }))), address),
    /** Sends the payload to the channel. Resolves with the start time of the server process `pid`, if it exists. */
    probe: (channel: string, payload: string, pid: number | null): Promise<number | null> =>
      probe(channel, payload, pid),
    /** Has changes announced for the next 30 s. `lapsed`: they were not announced until now. */
    watch: (): Promise<{ readonly channel: string; readonly lapsed: boolean }> => watch(),
    /** The transactions that are changing the table at this moment. */
    async writers(): Promise<string[]> {
      return JSON.parse((await answerOf(database, writers, [])) ?? '[]')
    },
  }
}

/** The column `answer` of the only row. */
export async function answerOf(
  database: Pick<PostgresDatabase, 'query'>,
  text: string,
  values: readonly SqlValue[] = [],
): Promise<string | null> {
  const [row] = (await database.query(text, values)) as readonly { readonly answer: string | null }[]
  return row?.answer ?? null
}
