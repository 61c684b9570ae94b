import type { Answer, Ask, LeaseRecord, ListQuery, Renewal } from '../../core/index.ts'
import type { Database, Value } from './client.ts'
import { literal, type Names } from './names.ts'

export type ReleaseAsk = { readonly resource: string } & (
  | { readonly id: string }
  | { readonly token: number }
)
export type Released = { readonly ended: LeaseRecord | null; readonly holder: LeaseRecord | null }

export interface Holder {
  readonly resource: string
  readonly id: string
}

export type Queries = ReturnType<typeof queriesOf>

/** The functions of the tables; each call is one statement. */
export function queriesOf(database: Database, { table, fn }: Names) {
  const call = (name: string, parameters: number) => {
    const marks = Array.from({ length: parameters }, (_, n) => `$${n + 1}`)
    const text = `select ${fn(name)}(${marks.join(', ')}) as answer`
    return async (...values: readonly Value[]) => JSON.parse((await database.ask(text, values)) ?? 'null')
  }
  const acquire = call('acquire', 8)
  const renew = call('renew', 3)
  const release = call('release', 3)
  const read = call('read', 1)
  const list = call('list', 3)
  const sweep = call('sweep', 1)
  const hear = call('hear', 2)
  const probe = call('probe', 3)
  const watch = call('watch', 0)
  const writers = `select coalesce(json_agg(virtualtransaction), '[]')::text as answer from pg_locks
    where relation = to_regclass(${literal(table)}) and mode = 'RowExclusiveLock' and pid <> pg_backend_pid()
      and database = (select oid from pg_database where datname = current_database())`

  return {
    /** `address`: where the asker hears; without one it polls. */
    async acquire(ask: Ask, address: string | null): Promise<Answer> {
      const { resource, id, owner, ttl, metadata, wake, replace = null } = ask
      const json = metadata ? JSON.stringify(metadata) : null
      const { replaced, ...answer } = await acquire(resource, id, owner, ttl, json, address, !!wake, replace)
      return replaced ? { ...answer, replaced } : answer
    },
    renew: (resource: string, id: string, ttl: number): Promise<Renewal> => renew(resource, id, ttl),
    release: (ask: ReleaseAsk): Promise<Released> =>
      'id' in ask ? release(ask.resource, ask.id, null) : release(ask.resource, null, ask.token),
    read: (resources: readonly string[]): Promise<(LeaseRecord | null)[]> => read(JSON.stringify(resources)),
    list: ({ prefix = '', after = '', limit }: ListQuery): Promise<LeaseRecord[]> =>
      list(prefix, after, limit),
    sweep: (limit: number): Promise<LeaseRecord[]> => sweep(limit),
    /** Lets these holders hear at the address; resolves with the ids of those that hold no more. */
    hear: (holders: readonly Holder[], address: string): Promise<string[]> =>
      hear(JSON.stringify(holders), address),
    /** Sends the payload by the ordinary client; resolves with the start of the process, if there is such a one. */
    probe: (channel: string, payload: string, pid: number | null): Promise<number | null> =>
      probe(channel, payload, pid),
    /** Has changes announced for the next 30 s; `lapsed` if they were not until now. */
    watch: (): Promise<{ readonly channel: string; readonly lapsed: boolean }> => watch(),
    /** The transactions that are changing the table at this moment. */
    async writers(): Promise<string[]> {
      return JSON.parse((await database.ask(writers, [])) ?? '[]')
    },
  }
}
