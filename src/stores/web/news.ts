import type { LeaseRecord, StoreEvent } from '../../core/index.ts'

/** What the tabs tell each other. */
export interface Bulletin {
  readonly changes: readonly LeaseRecord[]
  /** Waiters who are to ask again in so many milliseconds. */
  readonly wakes?: ReadonlyMap<string, number>
}

export interface News {
  /** Tells this tab and all others. */
  publish(bulletin: Bulletin): void
  watch(on: (event: StoreEvent) => void, prefix: string): AsyncDisposable
  close(): void
}

/** Over a BroadcastChannel of the name. `hear` is told everything, watchers what changes under their prefix. */
export function broadcastNews(name: string, hear: (bulletin: Bulletin) => void = () => {}): News {
  const watchers = new Set<{ readonly on: (event: StoreEvent) => void; readonly prefix: string }>()
  const channel = new BroadcastChannel(name)
  channel.onmessage = ({ data }: MessageEvent<Bulletin>) => deliver(data)

  function deliver(bulletin: Bulletin): void {
    hear(bulletin)
    for (const lease of bulletin.changes)
      for (const { on, prefix } of watchers) if (lease.resource.startsWith(prefix)) tell(on, lease)
  }

  return {
    publish(bulletin) {
      if (bulletin.changes.length === 0 && !bulletin.wakes?.size) return
      channel.postMessage(bulletin)
      deliver(bulletin)
    },
    watch(on, prefix) {
      const watcher = { on, prefix }
      watchers.add(watcher)
      return {
        async [Symbol.asyncDispose]() {
          watchers.delete(watcher)
        },
      }
    },
    close() {
      watchers.clear()
      channel.close()
    },
  }
}

function tell(on: (event: StoreEvent) => void, lease: LeaseRecord): void {
  try {
    on({ type: 'change', lease })
  } catch {
    // A listener that throws harms nobody else.
  }
}
