import { onAbort, type Stop } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import type { StoreEvent } from '../../core/index.ts'
import type { Calls } from '../local/calls.ts'
import { LocalListeners } from '../local/listeners.ts'
import { PushConnection } from '../local/push-connection.ts'
import type { Register, RegisterListener, Registers } from './registers.ts'
import { idsIn, type Row, readableRow, unendedIn } from './transitions.ts'

interface Subscription {
  readonly stop: AbortController
  /** Settles when the subscription has ended, with all its requests. */
  ended: Promise<void>
}

/** Tells watchers of every change, and holders of the end of their leases, by one subscription to all registers. */
export class Push<R extends Register> {
  readonly listeners: LocalListeners
  readonly #registers: Registers<R>
  readonly #calls: Calls
  readonly #connection: PushConnection<Subscription>
  /** The tokens in the latest state of each resource that is shared, while somebody watches. */
  readonly #shared = new Map<string, Set<number>>()

  constructor(registers: Registers<R>, calls: Calls, clock: Clock) {
    this.listeners = new LocalListeners(clock)
    this.#registers = registers
    this.#calls = calls
    this.#connection = new PushConnection({
      clock,
      open: (broken) => this.#subscribe(broken),
      close: ({ stop, ended }) => {
        stop.abort()
        return ended
      },
      isNeeded: () => this.listeners.isNeeded,
      opened: (_, missed) => this.#onOpened(missed),
    })
  }

  async watch(on: (event: StoreEvent) => void, prefix: string, stop: Stop): Promise<AsyncDisposable> {
    const watch = this.listeners.watch(on, prefix)
    try {
      await this.#connection.open()
      stop.throwIfAborted()
      return watch
    } catch (error) {
      await watch[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Call `listeners.expect` before the request is sent: the end of the lease may be reported before the grant. */
  granted(lease: LeaseRecord): void {
    this.listeners.granted(lease)
    this.#connection.openForHolder(lease, this.listeners)
  }

  async close(): Promise<void> {
    this.listeners.clear()
    await this.#connection.close()
  }

  /** As a call of the store, so that it ends after the limit or by `close`, which waits for its requests. */
  #subscribe(broken: () => void): Promise<Subscription> {
    return this.#calls.run((call) => {
      const { promise, resolve, reject } = Promise.withResolvers<Subscription>()
      const stop = new AbortController()
      onAbort(call.signal, () => stop.abort(call.reason))
      const subscription = { stop, ended: Promise.resolve() }
      subscription.ended = this.#registers.watch(
        this.#listenerUntil(stop.signal, () => resolve(subscription)),
        stop.signal,
      )
      subscription.ended
        .then(() => reject(new LeaseError('store-unavailable', 'the subscription to changes ended')), reject)
        .then(broken)
      return promise
    })
  }

  #listenerUntil(stop: AbortSignal, opened: () => void): RegisterListener<R> {
    return {
      opened,
      changed: (register) => {
        if (!stop.aborted) this.#onChanged(register)
      },
      removed: (name) => {
        if (!stop.aborted) this.#onRemoved(name)
      },
    }
  }

  #onOpened(missed: boolean): void {
    this.#shared.clear()
    if (missed) this.listeners.tellGap()
    void this.#checkHeld(this.listeners.held())
  }

  #onChanged(register: R): void {
    const row = readableRow(register)
    if (row) {
      this.listeners.observed(row.resource, row.state.token, idsIn(row.state))
      if (this.#hasMissed(row)) this.listeners.tellGap()
      for (const lease of row.changes) this.listeners.tellChange(lease)
    } else this.#onRemoved(register.name)
  }

  /**
   * Whether a state was left out in which one of several leases began or ended. This state does not show it. Of an
   * exclusive lease it does, by its token.
   */
  #hasMissed({ resource, state, changes }: Row): boolean {
    const before = this.#shared.get(resource)
    const leases = unendedIn(state)
    const tokens = new Set(leases.map(({ token }) => token))
    const isShared = leases.some(({ share }) => share !== null)
    if (isShared && this.listeners.isWatched) this.#shared.set(resource, tokens)
    else this.#shared.delete(resource)
    if (!before) return false
    const told = new Set(changes.map(({ token }) => token))
    const isMissed = (token: number) => before.has(token) !== tokens.has(token) && !told.has(token)
    return [...before, ...tokens].some(isMissed)
  }

  /** Also for a register that another program wrote: it has no token that shows whether it is older than a grant. */
  #onRemoved(name: string): void {
    this.listeners.tellGap()
    void this.#checkHeld(this.listeners.held().filter(({ resource }) => resource === name))
  }

  async #checkHeld(held: readonly LeaseRecord[]): Promise<void> {
    if (held.length === 0) return
    try {
      const names = held.map(({ resource }) => resource)
      const { registers } = await this.#calls.run(() => this.#registers.read(names))
      for (const [index, { resource, id, token }] of held.entries()) {
        const register = registers[index]
        const row = register && readableRow(register)
        if (row) this.listeners.observed(resource, row.state.token, idsIn(row.state))
        else this.listeners.ended(id, token)
      }
    } catch {
      // The heartbeat of the holder will find out.
    }
  }
}
