import type {
  Collection,
  DocumentReference,
  DocumentSnapshot,
  FirestoreClient,
  Timestamp,
} from '../../clients/firestore.ts'
import { firestoreError, isConflict } from '../../clients/firestore-errors.ts'
import { LeaseError } from '../../core/index.ts'
import type { Entry, Feed, Index, Registers, Written } from '../registers/port.ts'
import { idOf, nameOf } from './document-id.ts'

/** How far the estimated time of a change may lie before its real one, for a watcher not to miss it. */
const LAG_MS = 30_000

interface DocumentEntry extends Entry {
  readonly updateTime: Timestamp
}

/**
 * The documents of a collection as registers: preconditions for compare-and-set, `updateTime` and `readTime` for
 * time. No transactions, since a client that dies within one blocks the others for a minute.
 *
 *     record    the lease, as text: Firestore has no arrays within arrays
 *     live      the name while the lease is not ended, to list by
 *     due       when a sweep should look at it
 *     changed   when it was written, to watch by
 *
 * The last two are estimates from the last time that the server was heard of, so they are never too late.
 */
export class DocumentRegisters implements Registers<DocumentEntry> {
  readonly #client: FirestoreClient
  readonly #collection: Collection
  /** The latest time of the server that is known, in milliseconds. */
  #seenMs = 0
  #closed = false

  constructor(client: FirestoreClient, collection: string) {
    this.#client = client
    this.#collection = client.collection(collection)
  }

  async read(names: readonly string[]) {
    if (names.length === 0) return { entries: [], now: async () => 0 }
    const documents = await this.#client.getAll(...names.map((name) => this.#documentOf(name)))
    const times = documents.map(({ readTime }) => this.#see(readTime))
    return { entries: documents.map(entryOf), now: async () => Math.min(...times) }
  }

  async write(
    name: string,
    text: string,
    previous: DocumentEntry | null,
    { listed, dueIn }: Index,
  ): Promise<Written<DocumentEntry> | null> {
    const document = this.#documentOf(name)
    const fields = {
      record: text,
      live: listed ? name : null,
      due: dueIn === null ? null : new Date(this.#seenMs + dueIn),
      changed: new Date(this.#seenMs),
    }
    try {
      const { writeTime } = await (previous
        ? document.update(fields, { lastUpdateTime: previous.updateTime })
        : document.create(fields))
      this.#see(writeTime)
      return { entry: { name, text, ...timesOf(writeTime) }, overtaken: false }
    } catch (error) {
      if (!isConflict(error)) throw error
      return this.#ownWrite(name, text)
    }
  }

  async forget({ name, updateTime }: DocumentEntry): Promise<void> {
    try {
      await this.#documentOf(name).delete({ lastUpdateTime: updateTime })
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }

  async list({ prefix, after, limit }: { prefix: string; after: string; limit: number }) {
    const query = this.#collection.where('live', '>=', prefix).where('live', '>', after)
    const { docs, readTime } = await query.orderBy('live').limit(limit).get()
    const entries = entriesOf(docs).filter(({ name }) => name.startsWith(prefix))
    const last = String(docs.at(-1)?.get('live'))
    const now = this.#see(readTime)
    const mayHaveMore = docs.length === limit && last.startsWith(prefix)
    return { entries, now: async () => now, ...(mayHaveMore && { next: last }) }
  }

  async *due(limit: number) {
    await this.#lookAtClock()
    const query = this.#collection.where('due', '<=', new Date(this.#seenMs))
    const page = query.orderBy('due').limit(limit)
    for (let last: DocumentSnapshot | undefined; ; ) {
      const { docs, readTime } = await (last ? page.startAfter(last) : page).get()
      const now = this.#see(readTime)
      yield { entries: entriesOf(docs), now: async () => now }
      last = docs.at(-1)
      if (!last || docs.length < limit) return
    }
  }

  async watch(feed: Feed<DocumentEntry>, stop: AbortSignal): Promise<void> {
    await this.#lookAtClock()
    stop.throwIfAborted()
    const recent = this.#collection.where('changed', '>', new Date(this.#seenMs - LAG_MS))
    await new Promise<void>((resolve, reject) => {
      let isOpen = false
      const end = recent.onSnapshot(
        (snapshot) => {
          // The first one has what changed before.
          if (isOpen) for (const { type, doc } of snapshot.docChanges()) tell(feed, type, doc)
          isOpen = true
          resolve()
        },
        (error) => (isOpen ? feed.ended() : reject(error)),
      )
      stop.addEventListener('abort', end)
    })
  }

  explain = firestoreError

  close(): void {
    this.#closed = true
  }

  /** The client sends a write again when its answer was lost, and is then told of a conflict with itself. */
  async #ownWrite(name: string, text: string): Promise<Written<DocumentEntry> | null> {
    const entry = entryOf(await this.#documentOf(name).get())
    return entry?.text === text ? { entry, overtaken: false } : null
  }

  /**
   * For the next request of a call that may be on its way since before `close`: by now the client may have been
   * terminated, and would fail in a way that nobody can catch.
   */
  #documentOf(name: string): DocumentReference {
    if (this.#closed) throw new LeaseError('closed', 'this firestore store was closed')
    return this.#collection.doc(idOf(name))
  }

  async #lookAtClock(): Promise<void> {
    const { readTime } = await this.#documentOf('').get()
    this.#see(readTime)
  }

  #see(time: Timestamp): number {
    const ms = Math.floor(microsOf(time) / 1000)
    this.#seenMs = Math.max(this.#seenMs, ms)
    return ms
  }
}

function tell(feed: Feed<DocumentEntry>, type: string, document: DocumentSnapshot): void {
  const entry = entryOf(document)
  if (!entry || entry.name === '') return
  if (type !== 'removed') feed.changed(entry)
  else if (document.get('live') !== null) feed.gone(entry.name)
}

function entriesOf(documents: readonly DocumentSnapshot[]): DocumentEntry[] {
  return documents.map(entryOf).filter((entry) => entry !== null)
}

/** `null` for what does not exist, and for documents of others. */
function entryOf(document: DocumentSnapshot): DocumentEntry | null {
  const name = nameOf(document.id)
  const { updateTime } = document
  if (name === null || !updateTime) return null
  return { name, text: String(document.get('record')), ...timesOf(updateTime) }
}

function timesOf(updateTime: Timestamp) {
  const micros = microsOf(updateTime)
  return { updateTime, micros, order: micros }
}

function microsOf({ seconds, nanoseconds }: Timestamp): number {
  return seconds * 1_000_000 + Math.ceil(nanoseconds / 1000)
}
