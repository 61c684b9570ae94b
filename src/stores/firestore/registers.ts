import { onAbort } from '../../base/abort.ts'
import { LeaseError } from '../../base/errors.ts'
import {
  type Collection,
  type DocumentChange,
  type DocumentSnapshot,
  type FirestoreClient,
  FirestoreConnection,
  type Timestamp,
} from '../../clients/firestore.ts'
import { firestoreError, isConflict } from '../../clients/firestore-errors.ts'
import type {
  IndexFields,
  Reading,
  Register,
  RegisterListener,
  RegisterQuery,
  Registers,
  Written,
} from '../registers/index.ts'
import { idOf, nameOf } from './names.ts'
import { CHANGED_LAG_MS } from './options.ts'

interface DocumentRegister extends Register {
  readonly updateTime: Timestamp
}

/**
 * The documents of a collection as registers: preconditions to compare and set, `updateTime` and `readTime` as times.
 * Without transactions, because a client that dies within one blocks the others for a minute.
 *
 *     record    the text of the register
 *     live      the name while the lease has not ended, for `list`
 *     due       when a sweep should look at it
 *     changed   when it was written, for `watch`
 *
 * `due` and `changed` are estimated from the server's time in the latest answer, so they are never too late.
 */
export class DocumentRegisters implements Registers<DocumentRegister> {
  readonly #client: FirestoreClient
  readonly #documents: Collection
  readonly #connection: FirestoreConnection
  /** The server's time in the latest answer, in milliseconds. */
  #seenMs = 0
  #closed = false

  constructor(client: FirestoreClient, documents: Collection) {
    this.#client = client
    this.#documents = documents
    this.#connection = new FirestoreConnection(client)
  }

  async read(names: readonly string[]): Promise<Reading<DocumentRegister, DocumentRegister | null>> {
    if (names.length === 0) return { registers: [], now: async () => 0 }
    const references = names.map((name) => this.#collection.doc(idOf(name)))
    const documents = await this.#connection.follow(this.#client.getAll(...references))
    const times = documents.map(({ readTime }) => this.#see(readTime))
    return { registers: documents.map(registerOf), now: async () => Math.min(...times) }
  }

  async write(
    name: string,
    text: string,
    previous: DocumentRegister | null,
    index: (now: number) => IndexFields,
  ): Promise<Written<DocumentRegister> | Reading<DocumentRegister, DocumentRegister | null>> {
    const document = this.#collection.doc(idOf(name))
    const { isListed, dueAt } = index(this.#seenMs)
    const fields = {
      record: text,
      live: isListed ? name : null,
      due: dueAt === null ? null : new Date(dueAt),
      changed: new Date(this.#seenMs),
    }
    try {
      const writing = previous
        ? document.update(fields, { lastUpdateTime: previous.updateTime })
        : document.create(fields)
      const { writeTime } = await this.#connection.follow(writing)
      this.#see(writeTime)
      return { register: { name, text, ...timesOf(writeTime) } }
    } catch (error) {
      if (!isConflict(error)) throw error
      return this.#afterConflict(name, text)
    }
  }

  async remove({ name, updateTime }: DocumentRegister): Promise<void> {
    try {
      await this.#collection.doc(idOf(name)).delete({ lastUpdateTime: updateTime })
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }

  async list({ prefix, after, limit }: RegisterQuery) {
    const query = this.#collection.where('live', '>=', prefix).where('live', '>', after)
    const { docs, readTime } = await query.orderBy('live').limit(limit).get()
    const registers = registersOf(docs).filter(({ name }) => name.startsWith(prefix))
    const last = String(docs.at(-1)?.get('live'))
    const now = this.#see(readTime)
    const mayHaveMore = docs.length === limit && last.startsWith(prefix)
    return { registers, now: async () => now, ...(mayHaveMore && { next: last }) }
  }

  async *due(limit: number) {
    await this.#readClock()
    const dueNow = this.#collection.where('due', '<=', new Date(this.#seenMs))
    const page = dueNow.orderBy('due').limit(limit)
    for (let last: DocumentSnapshot | undefined; ; ) {
      const { docs, readTime } = await (last ? page.startAfter(last) : page).get()
      const now = this.#see(readTime)
      yield { registers: registersOf(docs), now: async () => now }
      last = docs.at(-1)
      if (!last || docs.length < limit) return
    }
  }

  async watch(listener: RegisterListener<DocumentRegister>, stop: AbortSignal): Promise<void> {
    await this.#readClock()
    stop.throwIfAborted()
    const recent = this.#collection.where('changed', '>', new Date(this.#seenMs - CHANGED_LAG_MS))
    await new Promise<void>((resolve, reject) => {
      let isOpen = false
      const end = recent.onSnapshot((snapshot) => {
        // The first snapshot contains the changes before.
        if (isOpen) for (const change of snapshot.docChanges()) report(change, listener)
        else listener.opened()
        isOpen = true
      }, reject)
      onAbort(stop, () => {
        end()
        resolve()
      })
    })
  }

  explain = firestoreError

  trouble(): Error | undefined {
    return this.#connection.trouble()
  }

  close(): void {
    this.#closed = true
  }

  /** The client repeats a write whose answer was lost, and then gets a conflict with its own first write. */
  async #afterConflict(name: string, text: string) {
    const reading = await this.read([name])
    const [register] = reading.registers
    return register?.text === text ? { register } : reading
  }

  /**
   * For each request. Work that outlasts `close` must send none: the client may have been terminated by then, and
   * rejects a read in a way that nobody can catch.
   */
  get #collection(): Collection {
    if (this.#closed) throw new LeaseError('closed', 'this Firestore store was closed')
    return this.#documents
  }

  async #readClock(): Promise<void> {
    const { readTime } = await this.#collection.doc(idOf('')).get()
    this.#see(readTime)
  }

  #see(time: Timestamp): number {
    const ms = Math.floor(microsOf(time) / 1000)
    this.#seenMs = Math.max(this.#seenMs, ms)
    return ms
  }
}

function report({ type, doc }: DocumentChange, listener: RegisterListener<DocumentRegister>): void {
  const register = registerOf(doc)
  if (!register || register.name === '') return
  if (type !== 'removed') listener.changed(register)
  // Documents of ended leases are removed by sweeps.
  else if (doc.get('live') !== null) listener.removed(register.name)
}

function registersOf(documents: readonly DocumentSnapshot[]): DocumentRegister[] {
  return documents.map(registerOf).filter((register) => register !== null)
}

/** `null` if the document does not exist, or belongs to another program. */
function registerOf(document: DocumentSnapshot): DocumentRegister | null {
  const name = nameOf(document.id)
  const { updateTime } = document
  if (name === null || !updateTime) return null
  return { name, text: String(document.get('record')), ...timesOf(updateTime) }
}

function timesOf(updateTime: Timestamp) {
  return { updateTime, writtenMicros: microsOf(updateTime) }
}

function microsOf({ seconds, nanoseconds }: Timestamp): number {
  return seconds * 1_000_000 + Math.ceil(nanoseconds / 1000)
}
