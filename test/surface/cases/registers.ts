import { type Clock, type LeaseError, systemClock } from 'holdfast'
import {
  compareUtf8,
  isConnectionError,
  type Register,
  type RegisterListener,
  type RegisterQuery,
  type Registers,
  storeError,
} from 'holdfast/store-kit'

interface Revised extends Register {
  readonly revision: number
}

/** A database that can compare and set, in memory, as docs/stores/your-own.md describes it. */
export class MapRegisters implements Registers<Revised> {
  isDown = false
  readonly #clock: Clock
  readonly #values = new Map<string, Revised>()
  readonly #watches = new Map<RegisterListener<Revised>, () => void>()
  #revision = 0

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  async read(names: readonly string[]) {
    this.#connect()
    return this.#reading(names.map((name) => this.#values.get(name) ?? null))
  }

  async write(name: string, text: string, previous: Revised | null) {
    this.#connect()
    if (this.#values.get(name)?.revision !== previous?.revision) return null
    const writtenMicros = this.#clock.now() * 1000
    const register = { name, text, revision: ++this.#revision, writtenMicros }
    this.#values.set(name, register)
    if (name !== '') for (const { changed } of this.#watches.keys()) queueMicrotask(() => changed(register))
    return { register }
  }

  async remove({ name, revision }: Revised) {
    this.#connect()
    if (this.#values.get(name)?.revision === revision) this.#values.delete(name)
  }

  async list({ prefix, after, limit }: RegisterQuery) {
    this.#connect()
    const found = this.#named()
      .filter(({ name }) => name.startsWith(prefix) && compareUtf8(name, after) > 0)
      .sort((a, b) => compareUtf8(a.name, b.name))
    const page = found.slice(0, limit)
    const last = page.at(-1)
    return { ...this.#reading(page), ...(last && found.length > limit && { next: last.name }) }
  }

  async *due() {
    this.#connect()
    yield this.#reading(this.#named())
  }

  async watch(listener: RegisterListener<Revised>, stop: AbortSignal) {
    this.#connect()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#watches.set(listener, resolve)
    stop.addEventListener('abort', () => resolve())
    if (stop.aborted) resolve()
    else listener.opened()
    await promise
    this.#watches.delete(listener)
  }

  /** Ends all subscriptions, as a lost connection does. */
  interrupt(): void {
    for (const end of this.#watches.values()) end()
  }

  explain(error: unknown, resource?: string): LeaseError {
    return storeError('Map', error, { retryable: isConnectionError(error) }, resource)
  }

  close(): void {}

  #named(): Revised[] {
    return [...this.#values.values()].filter(({ name }) => name !== '')
  }

  #reading<Item>(registers: readonly Item[]) {
    const now = this.#clock.now()
    return { registers, now: async () => now }
  }

  #connect(): void {
    if (this.isDown) throw Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' })
  }
}
