import { systemClock } from '../../base/clock.ts'
import type { LeaseError } from '../../base/errors.ts'
import { notify } from '../../base/notify.ts'
import { pause } from '../../base/pause.ts'
import type { OpenListener, PostgresListener } from '../../clients/postgres.ts'
import { postgresError } from '../../clients/postgres-errors.ts'
import type { Ask, Grant, LeaseRecord, Refusal, StoreEvent } from '../../core/index.ts'
import { LocalListeners } from '../local/listeners.ts'
import { PushConnection } from '../local/push-connection.ts'
import { ChangeFeed } from './change-feed.ts'
import { type ListeningConnection, Notifications, type RunQueries } from './notifications.ts'
import { CHECK_CONNECTION_EVERY_MS, CHECKS_LEFT_OUT_FOR_HOLDERS, OPEN_AFTER_MS } from './options.ts'

/**
 * Tells waiters their turn, holders their loss and watchers every change. The tables keep for each waiter and holder
 * the address of the connection on which its process listens. Without a connection, waiters poll.
 */
export class Push {
  readonly #run: RunQueries
  readonly #listeners = new LocalListeners()
  readonly #notifications: Notifications
  readonly #connection: PushConnection<ListeningConnection>
  readonly #feed: ChangeFeed
  /** Leases whose rows have the address of the current connection. */
  #registered = new WeakSet<LeaseRecord>()
  /** Requests under way that were sent without a connection. They need not be woken when it is opened. */
  readonly #askedUnheard = new Set<string>()
  /** Why the last attempt to listen failed. */
  #failure: LeaseError | null = null
  #isPollingTold = false
  #cancelOpen: (() => void) | undefined
  #cancelCheck: (() => void) | undefined
  #checksLeftOut = 0

  /** `isUsed`: somebody runs statements on the connection. */
  constructor(openListener: OpenListener, run: RunQueries, isUsed: () => boolean = () => false) {
    this.#run = run
    this.#notifications = new Notifications({
      openListener,
      run,
      received: (channel, payload) => this.#feed.received(channel, payload) || this.#received(payload),
    })
    this.#connection = new PushConnection({
      open: (broken) => this.#open(broken),
      close: ({ listener }) => this.#close(listener),
      isNeeded: () => this.#feed.isNeeded || this.#listeners.isNeeded || isUsed(),
      opened: (connection) => this.#opened(connection),
    })
    this.#feed = new ChangeFeed({ listeners: this.#listeners, connection: this.#connection, run })
  }

  /** Where other processes reach this store: only the channel while the connection is not open. */
  get address(): string {
    return this.#connection.connection?.address ?? this.#notifications.channel
  }

  get isOpen(): boolean {
    return this.#connection.connection !== undefined
  }

  /** Runs a statement on the connection, while it is open and the driver can. */
  get query(): PostgresListener['query'] {
    return this.#connection.connection?.listener.query
  }

  /** The last attempt to listen failed, and another one would not help. */
  get cannotListen(): boolean {
    return this.#failure?.retryable === false
  }

  /** Why waiters poll. Given once, until they need not poll any more. */
  takePollingReason(): LeaseError | null {
    const { connection } = this.#connection
    const reason = connection ? connection.polls : this.#failure
    if (!reason || this.#isPollingTold) return null
    this.#isPollingTold = true
    return reason
  }

  /** Resolves when the connection is open, or if that fails or takes longer. */
  async openWithin(ms: number): Promise<boolean> {
    const opening = this.#connection.open().catch(() => {})
    await Promise.race([opening, pause(systemClock, ms, { background: true })])
    return this.isOpen
  }

  watch(on: (event: StoreEvent) => void, prefix: string): Promise<AsyncDisposable> {
    return this.#feed.watch(on, prefix)
  }

  /** Whether this waiter was told that it is its turn, and has not asked since. */
  takeCall(id: string): boolean {
    return this.#listeners.takeCall(id)
  }

  /** Whether this id waits or holds here. */
  has(id: string): boolean {
    return this.#listeners.has(id)
  }

  /** Call it before the request is sent: a notification may arrive before the answer. */
  expect(ask: Ask): void {
    if (this.isOpen) this.#listeners.expect(ask)
    else this.#askedUnheard.add(ask.id)
  }

  /** `address`: the one that the request was sent with. */
  granted(ask: Ask, { lease }: Grant, address: string): void {
    this.#answered(ask)
    this.#listeners.granted(lease)
    if (!this.isOpen) this.#openLater()
    else if (address === this.address) this.#registered.add(lease)
    else void this.#register()
  }

  refused(ask: Ask, { place }: Refusal, address: string): void {
    this.#answered(ask)
    this.#listeners.refused(ask.id, place !== null)
    if (!ask.wake) return
    if (!this.isOpen) this.#connection.open().catch(() => {})
    // The connection was opened while the request was under way. A repeated request carries the new address.
    else if (address !== this.address) notify(ask.wake, 0)
  }

  renewed(lease: LeaseRecord): void {
    this.#listeners.renewed(lease)
  }

  forget(id: string): void {
    this.#askedUnheard.delete(id)
    this.#listeners.forget(id)
  }

  async close(): Promise<void> {
    this.#cancelOpen?.()
    this.#listeners.clear()
    await this.#connection.close()
  }

  async #open(broken: () => void): Promise<ListeningConnection> {
    try {
      return await this.#notifications.open(broken)
    } catch (cause) {
      const error = postgresError(cause)
      this.#failure = error
      throw error
    }
  }

  #opened(connection: ListeningConnection): void {
    this.#failure = null
    if (!connection.polls) this.#isPollingTold = false
    connection.listener.keepAlive(false)
    this.#registered = new WeakSet()
    this.#listeners.wakeAll()
    void this.#register()
    this.#feed.restart()
    this.#checkLater(connection)
  }

  #close(listener: ListeningConnection['listener']): Promise<void> {
    this.#cancelCheck?.()
    return listener.close()
  }

  #checkLater(connection: ListeningConnection): void {
    this.#cancelCheck = systemClock.setTimer(
      () => void this.#check(connection),
      CHECK_CONNECTION_EVERY_MS,
      true,
    )
  }

  async #check(connection: ListeningConnection): Promise<void> {
    const isForHolders = !this.#feed.isNeeded && this.#listeners.waiting().length === 0
    if (isForHolders && this.#checksLeftOut++ < CHECKS_LEFT_OUT_FOR_HOLDERS)
      return this.#checkLater(connection)
    this.#checksLeftOut = 0
    const delivers = await this.#notifications.delivers(connection)
    if (this.#connection.connection !== connection) return
    if (!delivers) return this.#connection.drop(connection)
    this.#checkLater(connection)
    void this.#register()
    this.#feed.keepUp().catch(() => {})
  }

  /** Opens the connection when the oldest lease has been held for a while. */
  #openLater(): void {
    if (this.#cancelOpen || this.isOpen) return
    const [oldest] = this.#listeners.held()
    if (!oldest) return
    this.#cancelOpen = systemClock.setTimer(
      () => {
        this.#cancelOpen = undefined
        if (this.#listeners.held()[0] === oldest) this.#connection.open().catch(() => {})
        else this.#openLater()
      },
      OPEN_AFTER_MS,
      true,
    )
  }

  #answered(ask: Ask): void {
    if (this.#askedUnheard.delete(ask.id)) this.#listeners.expect(ask)
  }

  #received(payload: string): void {
    const { wake, lost, token, resource, id } = parse(payload)
    if (typeof lost === 'string' && typeof token === 'number') this.#listeners.ended(lost, token)
    if (typeof wake !== 'number' || typeof resource !== 'string' || typeof id !== 'string') return
    this.#listeners.wake(id, wake)
    // Nobody waits for the answer any more, but the request arrived, perhaps long after it was sent.
    if (!this.#listeners.has(id) && !this.#askedUnheard.has(id))
      this.#run((queries) => queries.abandon(resource, id)).catch(() => {})
  }

  /** Writes the address into the rows of the holders that they do not know yet, and tells those that were too late. */
  async #register(): Promise<void> {
    const { address } = this
    const registered = this.#registered
    const leases = this.#listeners.held().filter((lease) => !registered.has(lease))
    if (!this.isOpen || leases.length === 0) return
    try {
      const ended = await this.#run((queries) => queries.register(leases, address))
      for (const lease of leases) registered.add(lease)
      for (const { id, token } of leases) if (ended.includes(id)) this.#listeners.ended(id, token)
    } catch {
      // The next check tries again. Until then the heartbeat finds a loss.
    }
  }
}

function parse(payload: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(payload))
  } catch {
    return {}
  }
}
