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
import { Lane, type RunQuery } from './lane.ts'
import { type Names, statementNameOf } from './names.ts'
import { END_OF_RESOURCE } from './read-functions.ts'

const MAY_ANSWER_NULL = ['abandon', 'probe', 'together']

const ACQUIRE = 'text text text integer text text boolean bigint'
/** Of the functions that a lane calls, of which several may be one statement. */
const PARAMETER_TYPES: Readonly<Record<string, string>> = {
  acquire: ACQUIRE,
  ask: `${ACQUIRE} boolean bigint bigint bigint`,
  renew: 'text text integer',
  release: 'text text bigint',
}

interface Statement {
  readonly text: string
  /** Its name on the server; `undefined`: it is not prepared. */
  readonly name: string | undefined
}

type Client = Pick<PostgresDatabase, 'query'>

/** Calls of the functions that `schema.ts` installs. Each is one statement. */
export class Queries {
  readonly #database: PostgresDatabase
  readonly #names: Names
  readonly #requests: Client
  readonly #urgent: Client
  /** By function, each of which is always called with the same number of values. */
  readonly #statements = new Map<string, Statement>()

  /** `urgent`: runs renewals and releases. */
  constructor(database: PostgresDatabase, names: Names, urgent: Client = database) {
    this.#database = database
    this.#names = names
    this.#requests = new RequestLane(database)
    this.#urgent = urgent
  }

  /** `address`: where the caller receives notifications. */
  async acquire(request: Ask, address: string): Promise<Answer> {
    const { resource, id, owner, ttl, metadata, wake, replace = null } = request
    const { share, atLeast, lockDelay } = request
    const json = metadata ? JSON.stringify(metadata) : null
    const steals = replace === 'any'
    const common = [resource, id, owner, ttl, json, address, !!wake, steals ? null : replace]
    const isPlain = !share && !atLeast && !lockDelay && !steals
    const answer = isPlain
      ? await this.#call('acquire', common, this.#requests)
      : await this.#call(
          'ask',
          [...common, steals, encodeShare(share), atLeast || null, lockDelay || null],
          this.#requests,
        )
    if (answer.granted) return grantOf(answer)
    const { keptFor, holders, ...refusal } = answer
    return { ...refusal, holders: holders.map(withShare), ...(keptFor != null && { keptFor }) }
  }

  /** All of them in their order, or none: `null`. */
  async acquireAll(requests: readonly Ask[], address: string): Promise<Grant[] | null> {
    const asks = requests.map(({ resource, id, owner, ttl, metadata, share, atLeast, lockDelay }, n) => {
      const terms = { share: encodeShare(share), at_least: atLeast || null, lock_delay: lockDelay || null }
      return { nth: n + 1, resource, id, owner, ttl, metadata, ...terms }
    })
    const answers: Grant[] | null = await this.#call('together', [JSON.stringify(asks), address])
    return answers?.map(grantOf) ?? null
  }

  async renew({ resource, id, ttl }: RenewAsk): Promise<Renewal> {
    const { ok, lease, holders } = await this.#call('renew', [resource, id, ttl], this.#urgent)
    return ok ? { ok, lease: withShare(lease) } : { ok, holders: holders.map(withShare) }
  }

  async release(by: ReleaseAsk): Promise<Released> {
    const [id, token] = 'id' in by ? [by.id, null] : [null, by.token]
    const { ended, holders } = await this.#call('release', [by.resource, id, token], this.#urgent)
    return { ended: ended && withShare(ended), holders: holders.map(withShare) }
  }

  /** Gives back the place of a waiter that has gone, but never a lease. */
  abandon(resource: string, id: string): Promise<void> {
    return this.#call('abandon', [resource, id])
  }

  async read(resources: readonly string[]): Promise<LeaseRecord[][]> {
    const found: LeaseRecord[][] = await this.#call('read', [JSON.stringify(resources)])
    return found.map((leases) => leases.map(withShare))
  }

  async waiting({ resources, limit }: WaitingQuery): Promise<WaitingQueue[]> {
    const queues: WaitingQueue[] = await this.#call('waiting', [JSON.stringify(resources), limit])
    return queues.map(({ count, first }) => ({ count, first: first.map(withShare) }))
  }

  async list({ prefix = '', after, limit }: ListQuery): Promise<LeaseRecord[]> {
    const { resource, token } = cursorOf(after)
    const last = Number.isSafeInteger(token) ? token : END_OF_RESOURCE
    return (await this.#call('page', [prefix, resource, last, limit])).map(withShare)
  }

  async sweep(limit: number): Promise<LeaseRecord[]> {
    return (await this.#call('sweep', [limit])).map(withShare)
  }

  /** Notifies these holders at the address from now on. Resolves with the ids that hold their leases no longer. */
  register(leases: readonly LeaseRecord[], address: string): Promise<string[]> {
    const holders = leases.map(({ resource, id }) => ({ resource, id }))
    return this.#call('hear', [JSON.stringify(holders), address])
  }

  /** Sends the payload to the channel. Resolves with the start time of the server process `pid`, if it exists. */
  probe(channel: string, payload: string, pid: number | null): Promise<number | null> {
    return this.#call('probe', [channel, payload, pid])
  }

  /** Has changes announced for the next 30 s. `lapsed`: they were not announced until now. */
  watch(): Promise<{ readonly channel: string; readonly lapsed: boolean }> {
    return this.#call('watch', [])
  }

  /** The transactions that are changing the table at this moment. */
  async writers(): Promise<string[]> {
    const text = `select coalesce(json_agg(virtualtransaction), '[]')::text as answer from pg_locks
      where relation = to_regclass(${literal(this.#names.table)}) and mode = 'RowExclusiveLock'
      and pid <> pg_backend_pid() and database = (select oid from pg_database where datname = current_database())`
    return parse(await answerOf(this.#database, text))
  }

  async #call(name: string, values: readonly SqlValue[], client: Client = this.#database) {
    const { text, name: prepared } = this.#statement(name, values.length)
    const answer = parse(await answerOf(client, text, values, prepared))
    if (answer === null && !MAY_ANSWER_NULL.includes(name)) throw malformedAnswer('Postgres', answer)
    return answer
  }

  #statement(name: string, parameters: number): Statement {
    const known = this.#statements.get(name)
    if (known) return known
    const called = this.#names.fn(name)
    const types = PARAMETER_TYPES[name]?.split(' ')
    const marks = Array.from({ length: parameters }, (_, n) => `$${n + 1}${types ? `::${types[n]}` : ''}`)
    const text = `select ${called}(${marks.join(', ')}) as answer`
    const statement = { text, name: statementNameOf(`${called}/${parameters}`) }
    this.#statements.set(name, statement)
    return statement
  }
}

/**
 * For acquire requests. Those of one resource wait for each other in the database anyway, and each of them for the
 * disk. So one of them is under way at a time, and those that come meanwhile are sent together: a hundred readers that
 * are woken at once wait for the disk twice, and not a hundred times.
 */
export class RequestLane {
  readonly #database: PostgresDatabase
  /** The requests that are under way, by their resources. Most have no other behind them, and need no lane. */
  readonly #sent = new Map<string, Promise<unknown> | Lane>()

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  readonly query: RunQuery = (text, values, name) => {
    const resource = String(values[0])
    const sent = this.#sent.get(resource)
    if (sent) {
      const lane = sent instanceof Lane ? sent : this.#laneBehind(resource, sent)
      return lane.isStuck ? this.#database.query(text, values, name) : lane.query(text, values, name)
    }
    const answer = this.#database.query(text, values, name)
    this.#sent.set(resource, answer)
    const onAnswered = () => {
      if (this.#sent.get(resource) === answer) this.#sent.delete(resource)
    }
    answer.then(onAnswered, onAnswered)
    return answer
  }

  #laneBehind(resource: string, sent: Promise<unknown>): Lane {
    const run = this.#database.query
    const lane = new Lane({ run, ordinary: run, onIdle: () => this.#sent.delete(resource) })
    this.#sent.set(resource, lane)
    void lane.follow(sent)
    return lane
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
