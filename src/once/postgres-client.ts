import { LeaseError } from '../core/index.ts'
import { refuse } from './checks.ts'

/** A `Pool` or a connected `Client` of `pg`, or the `sql` of `postgres`. */
export type PostgresClient = PgQueryable | PostgresJs

interface PgQueryable {
  query(query: {
    readonly name?: string
    readonly text: string
    readonly values?: Value[]
    readonly query_timeout?: number
  }): Promise<{ readonly rows: readonly Row[] }>
}

interface PostgresJs {
  unsafe(
    text: string,
    values?: Value[],
    options?: { readonly prepare?: boolean },
  ): PromiseLike<readonly Row[]>
}

type Value = string | number | null

/** The columns of all answers together. */
export type Row = {
  readonly [column in
    | 'answer'
    | 'token'
    | 'attempts'
    | 'expires_at'
    | 'remaining'
    | 'status'
    | 'finished'
    | 'result'
    | 'error'
    | 'found']?: unknown
}

/** Less than the limits of those who wait for the answer. */
const ANSWER_LIMIT_MS = 4500
/** Connection, rollback, resources, intervention, system; a lock or a primary that is away; sockets. */
const PASSING =
  /^((08|40|53|57|58)...|55P03|25006|E[A-Z_]+|CONNECT_TIMEOUT|CONNECTION_(CLOSED|DESTROYED|ENDED))$/
/** `pg` gives these no code. */
const CONNECTION_MESSAGE = /Connection terminated|timeout|not queryable/
/** Two that make the same table at once: its key, its name, or the type of its rows. */
const MADE_BY_ANOTHER = ['23505', '42P07', '42710']

/** Names of prepared statements, which are shared by all that use a connection. */
const names = new Map<string, string>()

/** Runs one statement, with the errors of both drivers put into words. */
export function postgresRows(client: PostgresClient, prepare: boolean) {
  const run = runnerOf(client, prepare)
  return async (text: string, values: readonly Value[]): Promise<readonly Row[]> => {
    try {
      return await run(text, [...values])
    } catch (error) {
      if (text.startsWith('create') && MADE_BY_ANOTHER.includes(codeOf(error))) return []
      throw explain(error)
    }
  }
}

function runnerOf(
  client: PostgresClient,
  prepare: boolean,
): (text: string, values: Value[]) => PromiseLike<readonly Row[]> {
  if ('unsafe' in Object(client) && typeof (client as PostgresJs).unsafe === 'function') {
    // Unprepared it would ask for the types first, a second round trip; `prepare: false` of the client stands.
    return (text, values) => (client as PostgresJs).unsafe(text, values, { prepare: true })
  }
  if (typeof (client as PgQueryable)?.query !== 'function')
    refuse('client', 'a Pool or Client of pg, or the sql of postgres', client)
  const run = async (text: string, values: Value[]) => {
    const { rows } = await (client as PgQueryable).query({
      ...(prepare && { name: nameOf(text) }),
      text,
      values,
      query_timeout: ANSWER_LIMIT_MS,
    })
    return rows
  }
  return 'totalCount' in client ? run : inTurn(run)
}

function nameOf(text: string): string {
  const name = names.get(text) ?? `holdfast_once_${names.size + 1}`
  names.set(text, name)
  return name
}

/** A client runs one query after the other, and `pg` is about to refuse those that do not wait for their turn. */
function inTurn<A extends unknown[], T>(run: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (...args) => {
    const turn = last.then(
      () => run(...args),
      () => run(...args),
    )
    last = turn
    return turn
  }
}

function explain(error: unknown): LeaseError {
  const message = error instanceof Error ? error.message : String(error)
  const code = codeOf(error)
  const passing = PASSING.test(code) || (code === '' && CONNECTION_MESSAGE.test(message))
  return new LeaseError(passing ? 'store-unavailable' : 'store-failed', `Postgres: ${message}`, {
    cause: error,
  })
}

function codeOf(error: unknown): string {
  return String((Object(error) as { readonly code?: unknown }).code ?? '')
}
