import { decodeShare, encodeShare } from '../../base/share.ts'
import type { PostgresDatabase, SqlValue } from '../../clients/postgres.ts'
import { literal } from '../../clients/sql-text.ts'
import { malformedAnswer } from '../../clients/store-error.ts'
import type {
  Answer,
  Ask,
  Grant,
  LeaseRecord,
  ListQuery,
  ReleaseAsk,
  Released,
  RenewAsk,
  Renewal,
  WaitingQuery,
  WaitingQueue,
} from '../../core/index.ts'
import { cursorOf } from '../lease-page.ts'
import { AcquireQueries } from './acquire-queries.ts'
import { MAX_IDENTIFIER_BYTES, type Names } from './names.ts'
import { END_OF_RESOURCE } from './read-functions.ts'

const MAY_ANSWER_NULL = ['abandon', 'probe', 'together']

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
    const statement = statementNameOf(`${fn(name)}/${parameters}`)
    return async (...values: readonly SqlValue[]) => {
      const answer = parse(await answerOf(client, text, values, statement))
      if (answer === null && !MAY_ANSWER_NULL.includes(name)) throw malformedAnswer('Postgres', answer)
      return answer
    }
  }
  const requests = new AcquireQueries(database)
  const acquire = call('acquire', 8, requests)
  const ask = call('ask', 12, requests)
  const together = call('together', 2)
  const renew = call('renew', 3, urgent)
  const release = call('release', 3, urgent)
  const abandon = call('abandon', 2)
  const read = call('read', 1)
  const page = call('page', 4)
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
    async acquire(request: Ask, address: string): Promise<Answer> {
      const { resource, id, owner, ttl, metadata, wake, replace = null } = request
      const { share, atLeast, lockDelay } = request
      const json = metadata ? JSON.stringify(metadata) : null
      const steals = replace === 'any'
      const common = [resource, id, owner, ttl, json, address, !!wake, steals ? null : replace]
      const isPlain = !share && !atLeast && !lockDelay && !steals
      const answer = isPlain
        ? await acquire(...common)
        : await ask(...common, steals, encodeShare(share), atLeast || null, lockDelay || null)
      if (answer.granted) return grantOf(answer)
      const { keptFor, holders, ...refusal } = answer
      return { ...refusal, holders: holders.map(withShare), ...(keptFor != null && { keptFor }) }
    },
    /** All of them in their order, or none: `null`. */
    async acquireAll(requests: readonly Ask[], address: string): Promise<Grant[] | null> {
      const asks = requests.map(({ resource, id, owner, ttl, metadata, share, atLeast, lockDelay }, n) => {
        const terms = { share: encodeShare(share), at_least: atLeast || null, lock_delay: lockDelay || null }
        return { nth: n + 1, resource, id, owner, ttl, metadata, ...terms }
      })
      const answers: Grant[] | null = await together(JSON.stringify(asks), address)
      return answers?.map(grantOf) ?? null
    },
    renew: async ({ resource, id, ttl }: RenewAsk): Promise<Renewal> => {
      const { ok, lease, holders } = await renew(resource, id, ttl)
      return ok ? { ok, lease: withShare(lease) } : { ok, holders: holders.map(withShare) }
    },
    release: async (by: ReleaseAsk): Promise<Released> => {
      const [id, token] = 'id' in by ? [by.id, null] : [null, by.token]
      const { ended, holders } = await release(by.resource, id, token)
      return { ended: ended && withShare(ended), holders: holders.map(withShare) }
    },
    /** Gives back the place of a waiter that has gone, but never a lease. */
    abandon: (resource: string, id: string): Promise<void> => abandon(resource, id),
    async read(resources: readonly string[]): Promise<LeaseRecord[][]> {
      const found: LeaseRecord[][] = await read(JSON.stringify(resources))
      return found.map((leases) => leases.map(withShare))
    },
    async waiting({ resources, limit }: WaitingQuery): Promise<WaitingQueue[]> {
      const queues: WaitingQueue[] = await waiting(JSON.stringify(resources), limit)
      return queues.map(({ count, first }) => ({ count, first: first.map(withShare) }))
    },
    async list({ prefix = '', after, limit }: ListQuery): Promise<LeaseRecord[]> {
      const { resource, token } = cursorOf(after)
      const last = Number.isSafeInteger(token) ? token : END_OF_RESOURCE
      return (await page(prefix, resource, last, limit)).map(withShare)
    },
    sweep: async (limit: number): Promise<LeaseRecord[]> => (await sweep(limit)).map(withShare),
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
      return parse(await answerOf(database, writers))
    },
  }
}

/** `replaced` is `null` in an answer of the database if no lease was replaced. */
function grantOf({ lease, replaced }: Grant): Grant {
  return { granted: true, lease: withShare(lease), ...(replaced && { replaced: withShare(replaced) }) }
}

/** What a lease or a waiter has, with the share that JSON cannot carry. */
export function withShare<T extends { readonly share: number | null }>(record: T): T {
  return { ...record, share: decodeShare(record.share) }
}

/**
 * A name that stands for one text everywhere, because a pooler may lend the connection to another program. Postgres
 * cuts longer names off.
 */
function statementNameOf(name: string): string | undefined {
  return new TextEncoder().encode(name).length <= MAX_IDENTIFIER_BYTES ? name : undefined
}

/** The column `answer` of the only row. */
export async function answerOf(
  database: Pick<PostgresDatabase, 'query'>,
  text: string,
  values: readonly SqlValue[] = [],
  statement?: string,
): Promise<string | null> {
  const rows: unknown = await database.query(text, values, statement)
  const [row] = Array.isArray(rows) ? rows : []
  const { answer } = Object(row) as { readonly answer?: unknown }
  if (answer === null || typeof answer === 'string') return answer
  throw malformedAnswer('Postgres', answer)
}

function parse(answer: string | null) {
  try {
    return JSON.parse(answer ?? 'null')
  } catch {
    throw malformedAnswer('Postgres', answer)
  }
}
