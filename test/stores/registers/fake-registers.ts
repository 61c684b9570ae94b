import { LeaseError } from '../../../src/core/index.ts'
import type { Entry, Feed, Registers, Written } from '../../../src/stores/registers/port.ts'
import { FakeClock } from '../../../src/testing/index.ts'

/** A database of registers in memory. `before…` run when a request arrives, so that a test can come in between. */
export class FakeRegisters implements Registers {
  readonly clock = new FakeClock()
  entries = new Map<string, Entry>()
  readonly feeds = new Set<Feed<Entry>>()
  order = 0
  beforeWrite: (name: string) => Promise<void> | void = () => {}
  afterWrite: (written: Written<Entry>) => Promise<Written<Entry>> | Written<Entry> = (written) => written

  async read(names: readonly string[]) {
    return { entries: names.map((name) => this.entries.get(name) ?? null), now: this.#now }
  }

  async write(name: string, text: string, previous: Entry | null) {
    await this.beforeWrite(name)
    if ((this.entries.get(name) ?? null) !== previous) return null
    const entry = { name, text, micros: this.clock.now() * 1000, order: ++this.order }
    this.put(entry)
    return this.afterWrite({ entry, overtaken: false })
  }

  put(entry: Entry): void {
    this.entries.set(entry.name, entry)
    if (entry.name !== '') for (const feed of this.feeds) queueMicrotask(() => feed.changed(entry))
  }

  async forget(entry: Entry) {
    if (this.entries.get(entry.name) === entry) this.entries.delete(entry.name)
  }

  async list({ prefix, after }: { prefix: string; after: string }) {
    const entries = this.#leases()
      .filter(({ name }) => name.startsWith(prefix) && name > after)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    return { entries, now: this.#now }
  }

  async *due() {
    yield { entries: this.#leases(), now: this.#now }
  }

  async watch(feed: Feed<Entry>, stop: AbortSignal) {
    this.feeds.add(feed)
    stop.addEventListener('abort', () => this.feeds.delete(feed))
  }

  explain(error: unknown) {
    return error instanceof LeaseError ? error : new LeaseError('store-failed', String(error))
  }

  close() {}

  readonly #now = async () => this.clock.now()

  #leases(): Entry[] {
    return [...this.entries.values()].filter(({ name }) => name !== '')
  }
}
