/**
 * One watch on all keys of the store tells waiters their turn, holders their loss and watchers every change. It goes on
 * where it broke off. If etcd has compacted its history meanwhile, watchers are told of a gap, and the rest is read.
 */
import { onAbort } from '../../base/abort.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import type { EtcdDatabase, EtcdEvent, EtcdWatch } from '../../clients/etcd.ts'
import { etcdError } from '../../clients/etcd-errors.ts'
import { ANSWER_LIMIT_MS } from '../../clients/options.ts'
import type { StoreEvent } from '../../core/index.ts'
import { LocalListeners } from '../local/listeners.ts'
import { PushConnection } from '../local/push-connection.ts'
import { KeptTold } from './kept.ts'
import type { Keys, ParsedKey } from './names.ts'
import { PROBE_EVERY_MS } from './options.ts'
import { decodeLease, endedRecordOf, recordOf } from './rows.ts'

export interface PushOptions {
  readonly database: EtcdDatabase
  readonly keys: Keys
  readonly read: (resources: readonly string[]) => Promise<readonly (readonly LeaseRecord[])[]>
  /** All that one transaction did to a resource. */
  readonly changed: (resource: string, events: readonly ParsedEvent[]) => void
  /** Nothing is known of what happened before. */
  readonly begun: () => void
}

export type ParsedEvent = EtcdEvent & ParsedKey

export class Push {
  readonly listeners: LocalListeners
  readonly #options: PushOptions
  readonly #clock: Clock
  readonly #connection: PushConnection<EtcdWatch>
  /** The last revision that was told. `undefined`: the next watch begins when it opens. */
  #position: number | undefined
  /** Something was missed: etcd has forgotten what happened since the last watch broke. */
  #hasGap = false
  /** Whether the server has sent anything since the last probe. */
  #isHeard = false
  #cancelProbe: (() => void) | undefined
  readonly #kept: KeptTold

  constructor(options: PushOptions, clock = systemClock) {
    this.#options = options
    this.#clock = clock
    this.listeners = new LocalListeners(clock)
    this.#kept = new KeptTold(
      clock,
      (lease) => options.database.secondsLeft(lease),
      (lease) => this.listeners.tellChange(lease),
    )
    this.#connection = new PushConnection({
      clock,
      open: (broken, stop) => this.#open(broken, stop),
      close: (watch) => this.#close(watch),
      isNeeded: () => this.listeners.isNeeded,
      opened: (watch) => this.#opened(watch),
    })
  }

  async watch(on: (event: StoreEvent) => void, prefix: string): Promise<AsyncDisposable> {
    await this.#connection.open()
    return this.listeners.watch(on, prefix)
  }

  /** A waiter that joins the queue must hear what happens from then on. */
  open(): Promise<unknown> {
    return this.#connection.open()
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

  async #open(broken: () => void, stop: AbortSignal): Promise<EtcdWatch> {
    const { database, keys } = this.#options
    const created = Promise.withResolvers<void>()
    const fail = (error: unknown) => {
      created.reject(error)
      broken()
    }
    created.promise.catch(() => {})
    onAbort(stop, () => created.reject(stop.reason))
    const watch = await database.watch(keys.everything(), this.#position, {
      answered: () => {
        this.#isHeard = true
      },
      opened: (revision) => {
        if (this.#position === undefined) this.#options.begun()
        this.#position ??= revision
        created.resolve()
      },
      changed: (events, revision) => {
        this.#position = Math.max(this.#position ?? 0, revision)
        this.#changed(events)
      },
      compacted: () => {
        this.#position = undefined
        this.#hasGap = true
        fail(new LeaseError('store-unavailable', 'etcd: the history was compacted'))
      },
      broken: (error = new LeaseError('store-unavailable', 'etcd: the watch ended')) => fail(error),
    })
    try {
      await created.promise
      return watch
    } catch (error) {
      watch.close()
      throw etcdError(error)
    }
  }

  #opened(watch: EtcdWatch): void {
    if (this.#hasGap) {
      this.#kept.clear()
      this.listeners.tellGap()
      this.listeners.wakeAll()
    }
    this.#hasGap = false
    // Also leases that ended before the watch began.
    void this.#checkHeld(this.listeners.held())
    this.#probeLater(watch)
  }

  #close(watch: EtcdWatch): void {
    this.#cancelProbe?.()
    watch.close()
    // Nobody listens any more, so nobody misses what happens until the next watch.
    if (!this.listeners.isNeeded) this.#position = undefined
  }

  #probeLater(watch: EtcdWatch): void {
    this.#cancelProbe = this.#clock.setTimer(
      () => {
        this.#isHeard = false
        watch.probe()
        this.#cancelProbe = this.#clock.setTimer(
          () => (this.#isHeard ? this.#probeLater(watch) : this.#connection.drop(watch)),
          ANSWER_LIMIT_MS,
          true,
        )
      },
      PROBE_EVERY_MS,
      true,
    )
  }

  #changed(events: readonly EtcdEvent[]): void {
    const parsed = events
      .map((event) => ({ ...event, ...this.#options.keys.parse(event.entry.key) }))
      .filter((event): event is ParsedEvent => 'kind' in event)
    // What one transaction did to one resource belongs together.
    const groups = Map.groupBy(parsed, ({ entry, resource }) => `${entry.modified} ${resource}`)
    for (const group of groups.values()) this.#transaction(group)
  }

  #transaction(events: readonly ParsedEvent[]): void {
    const [{ resource } = { resource: '' }] = events
    const find = (kind: ParsedKey['kind'], type: EtcdEvent['type']) =>
      events.filter((event) => event.kind === kind && event.type === type)
    const put = find('l', 'put')
    const grants = put.filter(({ entry }) => entry.created === entry.modified)
    const removedRecords = new Set(find('e', 'delete').map(({ id }) => id))
    const freed = find('k', 'delete')
    const ended = new Set(find('l', 'delete').map(({ id }) => id))
    for (const { id, previous } of find('l', 'delete')) {
      if (!previous) continue
      const state = !removedRecords.has(id) ? 'expired' : grants.length > 0 ? 'taken-over' : 'released'
      this.listeners.ended(id, previous.created)
      this.#tell(resource, previous, state)
      if (state !== 'taken-over') this.#tellKept(() => this.#kept.ended(resource, previous, state, freed))
    }
    const keptNoMore = freed.filter(({ id }) => !ended.has(id))
    const state = grants.length > 0 ? 'taken-over' : 'released'
    this.#tellKept(() => this.#kept.freed(resource, keptNoMore, state))
    for (const { entry } of put) this.#tell(resource, entry, 'held')
    const granted = new Set(grants.map(({ id }) => id))
    for (const { id } of find('q', 'delete')) if (!granted.has(id)) this.listeners.dropped(id)
    this.#options.changed(resource, events)
  }

  #tell(resource: string, entry: EtcdEvent['entry'], state: LeaseRecord['state']): void {
    if (!this.listeners.isWatched) return
    try {
      const lease = decodeLease(entry)
      const now = this.#clock.now()
      this.listeners.tellChange(
        state === 'held'
          ? recordOf(resource, lease, lease.value.ttl, now)
          : endedRecordOf(resource, lease, state, now),
      )
    } catch {
      // Written by another program.
      this.listeners.tellGap()
    }
  }

  #tellKept(tell: () => void): void {
    try {
      if (this.listeners.isWatched) tell()
      else this.#kept.clear()
    } catch {
      // Written by another program: told as a gap with the lease itself.
    }
  }

  async #checkHeld(held: readonly LeaseRecord[]): Promise<void> {
    if (held.length === 0) return
    try {
      // A hundred readers of one resource need one look at it.
      const resources = [...new Set(held.map(({ resource }) => resource))]
      const found = await this.#options.read(resources)
      const leasesOf = new Map(resources.map((resource, index) => [resource, found[index] ?? []]))
      this.listeners.checkHeld(
        held,
        held.map(({ resource }) => leasesOf.get(resource) ?? []),
      )
    } catch {
      // The heartbeat of the holder will find out.
    }
  }
}
