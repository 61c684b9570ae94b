import { asLeaseError } from '../../../src/base/errors.ts'
import { compareUtf8 } from '../../../src/base/utf8-order.ts'
import type { LeaseStore } from '../../../src/core/index.ts'
import {
  type Register,
  type RegisterListener,
  type RegisterQuery,
  type Registers,
  registerStore,
  type Written,
} from '../../../src/stores/registers/index.ts'
import { FakeClock } from '../../../src/testing/index.ts'

interface Subscription extends RegisterListener<Register> {
  /** Ends it as a lost connection does. */
  end(): void
}

/** A database of registers in memory. A test can act between the arrival of a write and its answer. */
export class FakeRegisters implements Registers {
  readonly clock: FakeClock
  contents = new Map<string, Register>()
  readonly subscriptions = new Set<Subscription>()
  beforeWrite: (name: string) => Promise<void> | void = () => {}
  afterWrite: (written: Written<Register>) => Promise<Written<Register>> | Written<Register> = (written) =>
    written

  constructor(clock = new FakeClock()) {
    this.clock = clock
  }

  /** One of several stores on this database, with the same clock. */
  store(): LeaseStore {
    return registerStore(this, { kind: 'fake', backend: 'Fake', clock: this.clock })
  }

  async read(names: readonly string[]) {
    return { registers: names.map((name) => this.contents.get(name) ?? null), now: this.#now }
  }

  async write(name: string, text: string, previous: Register | null) {
    await this.beforeWrite(name)
    if ((this.contents.get(name) ?? null) !== previous) return null
    const register = { name, text, writtenMicros: this.clock.now() * 1000 }
    this.put(register)
    return this.afterWrite({ register })
  }

  put(register: Register): void {
    this.contents.set(register.name, register)
    if (register.name === '') return
    for (const { changed } of this.subscriptions) queueMicrotask(() => changed(register))
  }

  async remove(register: Register) {
    if (this.contents.get(register.name) === register) this.contents.delete(register.name)
  }

  async list({ prefix, after }: RegisterQuery) {
    const registers = this.#leases()
      .filter(({ name }) => name.startsWith(prefix) && compareUtf8(name, after) > 0)
      .sort((a, b) => compareUtf8(a.name, b.name))
    return { registers, now: this.#now }
  }

  async *due() {
    yield { registers: this.#leases(), now: this.#now }
  }

  watch(listener: RegisterListener<Register>, stop: AbortSignal) {
    const { promise, resolve } = Promise.withResolvers<void>()
    const subscription = { ...listener, end: resolve }
    this.subscriptions.add(subscription)
    stop.addEventListener('abort', () => resolve())
    listener.opened()
    return promise.finally(() => this.subscriptions.delete(subscription))
  }

  explain(error: unknown, resource?: string) {
    return asLeaseError(error, resource)
  }

  close() {}

  readonly #now = async () => this.clock.now()

  #leases(): Register[] {
    return [...this.contents.values()].filter(({ name }) => name !== '')
  }
}
