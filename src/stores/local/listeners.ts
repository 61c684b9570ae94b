import { type Clock, systemClock } from '../../base/clock.ts'
import { notify } from '../../base/notify.ts'
import type { LeaseRecord } from '../../base/records.ts'
import type { Answer, Ask, StoreEvent } from '../../core/index.ts'

/** Callbacks of one waiter or holder, by its id. */
interface Party {
  readonly resource: string
  wake: Ask['wake']
  lost: Ask['lost']
  /** The lease that it was granted and still holds, as far as this process knows. */
  lease: LeaseRecord | null
  /** Monotonic time after which the lease has expired, unless it was renewed elsewhere. */
  until: number
  /** The highest token that another caller has or ended here. It may be heard before our grant is. */
  endedToken: number
}

interface Watcher {
  readonly on: (event: StoreEvent) => void
  readonly prefix: string
}

const NOBODY: ReadonlySet<string> = new Set()

/** Those in this process that a store has to tell something: waiters their turn, holders their loss, watchers all. */
export class LocalListeners {
  readonly #clock: Clock
  readonly #parties = new Map<string, Party>()
  /** The ids of each resource. Created when it is first used: a store that only uses ids does not pay for it. */
  #byResource: Map<string, Set<string>> | undefined
  readonly #watchers = new Set<Watcher>()
  /** Waiters whose turn it is, until they ask again. */
  readonly #called = new Set<string>()

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  /** Whether anybody listens. Holders whose leases have expired count no longer. */
  get isNeeded(): boolean {
    if (this.isWatched) return true
    const now = this.#clock.monotonic()
    for (const [id, { lease, wake, until }] of this.#parties) {
      // The rest is not looked at: there may be 10 000 holders, and those who were not renewed come first.
      if (!lease || wake || until >= now) return true
      this.forget(id)
    }
    return false
  }

  get hasWaiters(): boolean {
    for (const { wake } of this.#parties.values()) if (wake) return true
    return false
  }

  get isWatched(): boolean {
    return this.#watchers.size > 0
  }

  /** Call it before the request is sent: its wake-up or its loss may arrive before the answer. */
  expect({ resource, id, wake, lost }: Ask): void {
    const party = this.#parties.get(id)
    if (party) {
      // A repeated request without callbacks may still be in the queue, and is still to be woken.
      party.wake = wake ?? party.wake
      party.lost = lost ?? party.lost
      // Whatever has ended until now is not the lease that this request will be granted.
      party.endedToken = 0
    } else if (wake || lost) {
      this.#parties.set(id, { resource, wake, lost, lease: null, until: Infinity, endedToken: 0 })
      if (this.#byResource) index(this.#byResource, resource, id)
    }
  }

  /** For an answer that comes at once, so that nothing can happen before it. */
  answered(ask: Ask, answer: Answer): void {
    this.expect(ask)
    if (answer.granted) this.granted(answer.lease)
    else this.refused(ask.id, answer.place !== null)
  }

  granted(lease: LeaseRecord): void {
    const party = this.#parties.get(lease.id)
    if (!party) return
    party.wake = undefined
    party.lease = lease
    party.until = this.#expiryOf(lease)
    if (!party.lost) this.forget(lease.id)
    else if (party.endedToken >= lease.token) this.#lose(lease.id, party)
  }

  renewed(lease: LeaseRecord): void {
    const party = this.#parties.get(lease.id)
    if (!party) return
    party.until = this.#expiryOf(lease)
    // To the end of the map, so that holders whose leases have expired come first.
    this.#parties.delete(lease.id)
    this.#parties.set(lease.id, party)
  }

  refused(id: string, isQueued: boolean): void {
    const party = this.#parties.get(id)
    if (party && isQueued) party.lease = null
    else this.forget(id)
  }

  /** The request failed. Its outcome is unknown, so a lease that it was granted before stays. */
  failed(id: string): void {
    if (!this.#parties.get(id)?.lease) this.forget(id)
  }

  /** Returns the lease that it held. */
  forget(id: string): LeaseRecord | null {
    const party = this.#parties.get(id)
    if (!party) return null
    this.#parties.delete(id)
    this.#called.delete(id)
    const ids = this.#byResource?.get(party.resource)
    ids?.delete(id)
    if (ids?.size === 0) this.#byResource?.delete(party.resource)
    return party.lease
  }

  clear(): void {
    this.#parties.clear()
    this.#called.clear()
    this.#byResource = undefined
    this.#watchers.clear()
  }

  /** Whether this id waits or holds here. */
  has(id: string): boolean {
    return this.#parties.has(id)
  }

  wake(id: string, inMs: number): void {
    const wake = this.#parties.get(id)?.wake
    if (wake && inMs === 0) this.#called.add(id)
    notify(wake, inMs)
  }

  /** Whether this waiter was told that it is its turn, and has not asked since. */
  takeCall(id: string): boolean {
    return this.#called.delete(id)
  }

  wakeAll(): void {
    for (const { wake } of this.#parties.values()) notify(wake, 0)
  }

  /** It lost its place in the queue. It asks again, and is expected again then. */
  dropped(id: string): void {
    const wake = this.#parties.get(id)?.wake
    this.forget(id)
    notify(wake, 0)
  }

  /** Tells waiters and holders what a transition means to them. Watchers are told by `tellChange`. */
  carryOut(effects: {
    readonly wakes: ReadonlyMap<string, number>
    readonly changes: readonly LeaseRecord[]
  }): void {
    const { wakes, changes } = effects
    for (const [id, inMs] of wakes) this.wake(id, inMs)
    for (const { id, token, state } of changes) if (state !== 'held') this.ended(id, token)
  }

  /** Whether somebody waits for this resource. */
  isAwaited(resource: string): boolean {
    for (const id of this.#idsOf(resource)) if (this.#parties.get(id)?.wake) return true
    return false
  }

  /** Whether somebody waits for this resource or holds it. */
  isUsed(resource: string): boolean {
    return this.#idsOf(resource).size > 0
  }

  /** Those who wait for a resource. */
  waiting(): { readonly id: string; readonly resource: string }[] {
    const waiting: { id: string; resource: string }[] = []
    for (const [id, { resource, wake }] of this.#parties) if (wake) waiting.push({ id, resource })
    return waiting
  }

  /** The lease of this id with this token was ended. */
  ended(id: string, token: number): void {
    const party = this.#parties.get(id)
    if (!party) return
    party.endedToken = Math.max(party.endedToken, token)
    if (party.lease && party.endedToken >= party.lease.token) this.#lose(id, party)
  }

  /** The resource was seen with this latest token, held by these ids. Everybody else has lost it. */
  observed(resource: string, token: number, holders: readonly string[]): void {
    for (const id of [...this.#idsOf(resource)]) if (!holders.includes(id)) this.ended(id, token)
  }

  /** The lease that this id was granted and still holds, as far as this process knows. */
  leaseOf(id: string): LeaseRecord | null {
    return this.#parties.get(id)?.lease ?? null
  }

  /** Whether its holder wants to hear of its end, and has not released it. */
  holds({ id, token }: LeaseRecord): boolean {
    return this.#parties.get(id)?.lease?.token === token
  }

  /** The leases whose holders want to hear of their end. */
  held(): LeaseRecord[] {
    return Array.from(this.#parties.values(), ({ lease }) => lease).filter((lease) => lease !== null)
  }

  heldOn(resource: string): LeaseRecord[] {
    const leases = [...this.#idsOf(resource)].map((id) => this.#parties.get(id)?.lease ?? null)
    return leases.filter((lease) => lease !== null)
  }

  /** Compares what was read again after a gap with what is held here. */
  checkHeld(held: readonly LeaseRecord[], found: readonly (readonly LeaseRecord[])[]): void {
    for (const [index, { id, token }] of held.entries())
      if (found[index]?.every((lease) => lease.id !== id || lease.state !== 'held')) this.ended(id, token)
  }

  watch(on: (event: StoreEvent) => void, prefix = ''): AsyncDisposable {
    const watcher = { on, prefix }
    this.#watchers.add(watcher)
    return {
      [Symbol.asyncDispose]: async () => {
        this.#watchers.delete(watcher)
      },
    }
  }

  tellChange(lease: LeaseRecord): void {
    for (const { on, prefix } of this.#watchers)
      if (lease.resource.startsWith(prefix)) notify(on, { type: 'change', lease })
  }

  tellGap(): void {
    for (const { on } of this.#watchers) notify(on, { type: 'gap' })
  }

  #idsOf(resource: string): ReadonlySet<string> {
    if (!this.#byResource) {
      this.#byResource = new Map()
      for (const [id, party] of this.#parties) index(this.#byResource, party.resource, id)
    }
    return this.#byResource.get(resource) ?? NOBODY
  }

  #expiryOf({ remaining }: LeaseRecord): number {
    return this.#clock.monotonic() + (remaining ?? Infinity)
  }

  #lose(id: string, { lost }: Party): void {
    this.forget(id)
    notify(lost)
  }
}

function index(byResource: Map<string, Set<string>>, resource: string, id: string): void {
  const ids = byResource.get(resource)
  if (ids) ids.add(id)
  else byResource.set(resource, new Set([id]))
}
