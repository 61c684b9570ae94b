import { hasMethods } from '../base/arguments.ts'
import type { ListenerHooks, PostgresDatabase, PostgresListener, SqlRow, SqlValue } from './postgres.ts'

export interface PostgresJs {
  unsafe(
    text: string,
    values?: SqlValue[],
    options?: { readonly prepare?: boolean },
  ): PromiseLike<readonly SqlRow[]>
  listen(
    channel: string,
    notified: (payload: string) => void,
    onListen?: () => void,
  ): PromiseLike<{ readonly state: { readonly pid: number }; unlisten(): Promise<void> }>
}

export function isPostgresJs(client: unknown): client is PostgresJs {
  return typeof client === 'function' && hasMethods(client, 'unsafe', 'listen')
}

export function postgresJs(sql: PostgresJs): PostgresDatabase {
  return {
    // Unprepared it would ask for the types first, a second round trip. `prepare: false` of the client still wins.
    query: async (text, values) => sql.unsafe(text, [...values], { prepare: true }),
    async run(script) {
      await sql.unsafe(script)
    },
  }
}

/**
 * `sql` keeps one listening connection until it is ended, and listens again by itself when that connection is lost,
 * so a second `onListen` means a gap. It also continues when the first attempt has failed.
 */
export async function postgresJsListener(sql: PostgresJs, hooks: ListenerHooks): Promise<PostgresListener> {
  const channels = new Map<string, { unlisten?: () => Promise<void> }>()
  let state: { readonly pid: number } | undefined

  return {
    get pid() {
      return state?.pid ?? null
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
