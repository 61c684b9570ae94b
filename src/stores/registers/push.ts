import type { Ask, StoreEvent } from '../../core/index.ts'
import { FeedKeeper } from './feed-keeper.ts'
import type { Entry, Registers } from './port.ts'
import { changesOf, readableRow } from './row.ts'

/** What an asker hears of its lease. */
export interface Hearing {
  /** From this write on, whatever puts another in its place is a loss. */
  granted(entry: Entry): void
  /** The ask is over; without a grant there is nothing to hear. */
  settle(): void
}

interface Listener {
  readonly resource: string
  readonly id: string
  readonly lost: () => void
  /** The order of the write that granted the lease. */
  grantedAt: number | null
  /** The last that was heard before the answer to our own write came. */
  heard: Entry | null
}

interface Watcher {
  readonly on: (event: StoreEvent) => void
  readonly prefix: string
}

/** Tells watchers of every change, and holders of the end of their leases. */
export class Push<E extends Entry> {
  readonly #registers: Registers<E>
  readonly #feed: FeedKeeper<E>
  readonly #watchers = new Set<Watcher>()
  readonly #listeners = new Map<string, Set<Listener>>()
  #holders = 0

  constructor(registers: Registers<E>) {
    this.#registers = registers
    this.#feed = new FeedKeeper(registers, {
      isNeeded: () => this.#watchers.size + this.#holders > 0,
      opened: (missed) => this.#opened(missed),
      changed: (entry) => this.#changed(entry),
      gone: (name) => this.#gone(name),
    })
  }

  async watch(on: Watcher['on'], prefix: string, stop: AbortSignal): Promise<AsyncDisposable> {
    const watcher = { on, prefix }
    const leave = () => {
      this.#watchers.delete(watcher)
      this.#feed.closeSoon()
    }
    this.#watchers.add(watcher)
    stop.addEventListener('abort', leave)
    try {
      await this.#feed.open()
    } catch (error) {
      leave()
      throw error
    }
    return { [Symbol.asyncDispose]: async () => leave() }
  }

  /** To be called before the lease is asked for: its end may be told before the answer to the ask comes. */
  expect({ resource, id, lost }: Ask): Hearing {
    if (!lost) return { granted() {}, settle() {} }
    const listener: Listener = { resource, id, lost, grantedAt: null, heard: null }
    const listeners = this.#listeners.get(resource) ?? new Set()
    this.#listeners.set(resource, listeners.add(listener))
    return {
      granted: (entry) => {
        if (!listeners.has(listener)) return
        for (const other of listeners) if (other !== listener && other.id === id) this.#remove(other)
        listener.grantedAt = entry.order
        this.#holders++
        this.#feed.open().catch(() => {})
        if (listener.heard) this.#judge(listener, listener.heard)
      },
      settle: () => {
        if (listener.grantedAt === null) this.#remove(listener)
      },
    }
  }

  /** The lease is given up by its holder. */
  forget(resource: string, id: string): void {
    for (const listener of this.#listeners.get(resource) ?? []) if (listener.id === id) this.#remove(listener)
  }

  close(): void {
    this.#watchers.clear()
    for (const listeners of this.#listeners.values()) listeners.clear()
    this.#holders = 0
    this.#feed.close()
  }

  /** What happened before is told as far as it matters to holders. */
  #opened(missed: boolean): void {
    if (missed) this.#tell({ type: 'gap' })
    this.#lookAgain([...this.#listeners.keys()])
  }

  #changed(entry: E): void {
    for (const listener of this.#listeners.get(entry.name) ?? []) this.#judge(listener, entry)
    const row = readableRow(entry)
    if (!row) this.#tell({ type: 'gap' })
    else for (const lease of changesOf(row)) this.#tell({ type: 'change', lease })
  }

  #gone(name: string): void {
    this.#lookAgain([name])
    this.#tell({ type: 'gap' })
  }

  #tell(event: StoreEvent): void {
    for (const { on, prefix } of this.#watchers)
      if (event.type === 'gap' || event.lease.resource.startsWith(prefix)) safely(() => on(event))
  }

  async #lookAgain(names: readonly string[]): Promise<void> {
    const holders = names
      .flatMap((name) => [...(this.#listeners.get(name) ?? [])])
      .filter((listener) => listener.grantedAt !== null)
    if (holders.length === 0) return
    try {
      const { entries } = await this.#registers.read(holders.map(({ resource }) => resource))
      for (const [n, listener] of holders.entries()) {
        const entry = entries[n]
        if (entry) this.#judge(listener, entry)
        else this.#lose(listener)
      }
    } catch {
      // The heartbeat of the holder will find out.
    }
  }

  #judge(listener: Listener, entry: Entry): void {
    const { grantedAt, heard, id } = listener
    if (grantedAt === null) listener.heard = heard && heard.order > entry.order ? heard : entry
    else if (entry.order > grantedAt && readableRow(entry)?.lease?.id !== id) this.#lose(listener)
  }

  #lose(listener: Listener): void {
    if (this.#remove(listener)) safely(listener.lost)
  }

  #remove(listener: Listener): boolean {
    const listeners = this.#listeners.get(listener.resource)
    if (!listeners?.delete(listener)) return false
    if (listeners.size === 0) this.#listeners.delete(listener.resource)
    if (listener.grantedAt !== null) {
      this.#holders--
      this.#feed.closeSoon()
    }
    return true
  }
}

/** A listener that throws harms nobody else. */
function safely(call: () => void): void {
  try {
    call()
  } catch {}
}
