import type { Database, Listener, ListenerHooks, Row, Value } from './client.ts'

export interface PostgresJs {
  unsafe(
    text: string,
    values?: Value[],
    options?: { readonly prepare?: boolean },
  ): PromiseLike<readonly Row[]>
  listen(
    channel: string,
    heard: (payload: string) => void,
    onListen?: () => void,
  ): PromiseLike<{ readonly state: { readonly pid: number }; unlisten(): Promise<void> }>
}

export function isPostgresJs(client: unknown): client is PostgresJs {
  if (typeof client !== 'function') return false
  const { unsafe, listen } = client as unknown as Record<string, unknown>
  return typeof unsafe === 'function' && typeof listen === 'function'
}

export function postgresJs(sql: PostgresJs): Database {
  return {
    async ask(text, values) {
      // Unprepared it would ask for the types first, a second round trip; `prepare: false` of the client stands.
      const [row] = await sql.unsafe(text, [...values], { prepare: true })
      return row?.answer as string | null
    },
    async run(script) {
      await sql.unsafe(script)
    },
  }
}

/**
 * `sql` keeps one listening connection of its own until it is ended, and listens again by itself when that was
 * lost, so a second `onListen` means a gap. It also goes on when the first attempt has failed.
 */
export async function postgresJsListener(sql: PostgresJs, hooks: ListenerHooks): Promise<Listener> {
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
        const heard = (payload: string) => {
          if (isCurrent()) hooks.heard(channel, payload)
        }
        const onListen = () => {
          if (listening && isCurrent()) hooks.dropped()
          listening = true
          if (failed) resolve()
        }
        sql.listen(channel, heard, onListen).then(
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
