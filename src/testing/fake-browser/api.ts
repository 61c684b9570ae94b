import type { ChromeApi, ChromeChange } from '../../sync/index.ts'
import type { Connection } from './context.ts'
import type { RuntimeListener } from './messages.ts'
import type { StorageArea } from './storage.ts'

export const EXTENSION_ORIGIN = 'chrome-extension://fake'

/** A context as the browser knows it: its connection and its listeners. */
export interface OpenContext {
  readonly connection: Connection
  readonly messages: Set<RuntimeListener>
  readonly changes: Set<(changes: Readonly<Record<string, ChromeChange>>, area: string) => void>
}

export interface ApiOptions {
  readonly areas: Readonly<Record<'local' | 'session' | 'sync', StorageArea>>
  readonly tabIds: () => readonly number[]
  readonly send: (
    sender: OpenContext,
    message: unknown,
    isReceiver: (other: Connection) => boolean,
  ) => Promise<unknown>
}

/** `chrome` as a context sees it. */
export function createApi(self: OpenContext, { areas, tabIds, send }: ApiOptions): ChromeApi {
  const { connection } = self
  const event = <L>(listeners: Set<L>) => ({
    addListener: (listener: L) => void listeners.add(listener),
    removeListener: (listener: L) => void listeners.delete(listener),
  })
  return {
    storage: {
      local: areas.local.from(connection),
      session: areas.session.from(connection),
      sync: areas.sync.from(connection),
      onChanged: event(self.changes),
    },
    runtime: {
      getURL: (path) => `${EXTENSION_ORIGIN}/${path}`,
      sendMessage: (message) => send(self, message, ({ kind }) => kind !== 'content'),
      onMessage: event(self.messages),
    },
    ...(connection.kind !== 'content' && {
      tabs: {
        query: () => connection.call(() => tabIds().map((id) => ({ id }))),
        sendMessage: (id: number, message: unknown) => send(self, message, ({ tabId }) => tabId === id),
      },
    }),
  }
}
