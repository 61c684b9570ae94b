import { AnswerLimit } from '../base/answer-limit.ts'
import { hasMethods } from '../base/arguments.ts'
import { DEFAULT_CONNECTIONS } from './options.ts'
import type { ListenerHooks, PostgresDatabase, PostgresListener, SqlRow, SqlValue } from './postgres.ts'

export interface PostgresJs {
  unsafe(
    text: string,
    values?: SqlValue[],
    options?: { readonly prepare?: boolean },
  ): PromiseLike<readonly SqlRow[]>
  readonly listen: {
    (
      channel: string,
      notified: (payload: string) => void,
      onListen?: () => void,
    ): PromiseLike<{ readonly state: { readonly pid: number }; unlisten(): Promise<void> }>
    readonly sql?: unknown
  }
  readonly options?: object
}

export function isPostgresJs(client: unknown): client is PostgresJs {
  return typeof client === 'function' && hasMethods(client, 'unsafe', 'listen')
}

export function postgresJs(sql: PostgresJs): PostgresDatabase {
  const { max } = Object(sql.options)
  return {
    connections: typeof max === 'number' && max >= 1 ? max : DEFAULT_CONNECTIONS,
    limit: new AnswerLimit(),
    query: queryOf(sql),
    async run(script) {
      await sql.unsafe(script)
    },
  }
}

function queryOf(sql: PostgresJs): PostgresDatabase['query'] {
  const { column } = Object(Object(sql.options).transform)
  return async (text, values) => {
    // Unprepared it would ask for the types first, a second round trip. `prepare: false` of the client still wins.
    const rows = await sql.unsafe(text, [...values], { prepare: true })
    return column?.from ? rows.map(withOwnNames) : rows
  }
}

/** A row whose columns `transform` of the client has renamed: `savedAt`, `SavedAt` and `saved-at` are `saved_at`. */
export function withOwnNames(row: object): SqlRow {
  const ownName = (name: string) =>
    name
      .replaceAll('-', '_')
      .replaceAll(/\B[A-Z]/g, '_$&')
      .toLowerCase()
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [ownName(name), value]))
}

/**
 * `sql` keeps one listening connection until it is ended, and listens again by itself when that connection is lost,
 * so a second `onListen` means a gap. It also continues when the first attempt has failed.
 */
export async function postgresJsListener(sql: PostgresJs, hooks: ListenerHooks): Promise<PostgresListener> {
  const channels = new Map<string, { unlisten?: () => Promise<void> }>()
  let state: { readonly pid: number } | undefined
  let query: PostgresDatabase['query'] | undefined

  return {
    get pid() {
      return state?.pid ?? null
    },
    get query() {
      return query
    },
    listen(channel) {
      const subscription: { unlisten?: () => Promise<void> } = {}
      channels.set(channel, subscription)
      const isCurrent = () => channels.get(channel) === subscription
      return new Promise((resolve) => {
        let listening = false
        let failed = false
        const notified = (payload: string) => {
          if (isCurrent()) hooks.notified(channel, payload)
        }
        const onListen = () => {
          if (listening && isCurrent()) hooks.dropped()
          listening = true
          if (failed) resolve()
        }
        sql.listen(channel, notified, onListen).then(
          (first) => {
            state = first.state
            // Not documented: the `sql` of that one connection.
            if (hasMethods(sql.listen.sql, 'unsafe')) query ??= queryOf(sql.listen.sql as PostgresJs)
            subscription.unlisten = first.unlisten
            resolve()
          },
          () => {
            failed = true
          },
        )
      })
    },
    async unlisten(channel) {
      const subscription = channels.get(channel)
      channels.delete(channel)
      await subscription?.unlisten?.()
    },
    keepAlive() {},
    async close() {
      const subscriptions = [...channels.values()]
      channels.clear()
      await Promise.all(subscriptions.map((subscription) => subscription.unlisten?.()))
    },
  }
}
