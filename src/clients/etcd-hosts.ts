/**
 * The hosts of an `Etcd3`, without its circuit breaker. After three failures in a row, that breaker refuses every call to
 * a host for five seconds, also when the host answers again: leases with a short TTL would be lost after the outage. And
 * each failed call closes all connections to its host, also those that were opened a moment ago.
 *
 *     trusted ──three failures in a row──▶ avoided, while another host is trusted ──one call in five seconds succeeds──▶ trusted
 *
 * A host is avoided, never refused: if no host is trusted, all of them are called.
 */
import { hasMethods } from '../base/arguments.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { etcdError, isLeaseGone } from './etcd-errors.ts'
import { HOST_FAILURES, RECONNECT_EVERY_MS, TRY_HOST_EVERY_MS } from './options.ts'

/** A service of `etcd3`, such as `kv`. It keeps its connections in `client`. */
interface Service {
  readonly client?: Pool
}

interface Pool {
  readonly hosts?: readonly Host[]
  readonly options?: { readonly faultHandling?: { readonly host?: unknown } }
}

interface Host {
  readonly faultHandling: Policy
  getServiceClient(name: string): unknown
  resetAllServices(): void
}

interface Policy {
  execute<T>(work: () => T | Promise<T>): Promise<T>
}

/**
 * The same services on the same connections, with these rules instead of the breaker. Services of another client, and
 * of one with a `faultHandling` of its own, are returned as they are.
 */
export function withoutBreaker<T extends Readonly<Record<string, object>>>(
  services: T,
  clock = systemClock,
): T {
  const pools = new Map<Pool, Pool>()
  const replaced = Object.entries(services).map(([name, service]): [string, object] => {
    const { client } = service as Service
    if (!client || !hasHosts(client) || client.options?.faultHandling?.host) return [name, service]
    const pool =
      pools.get(client) ?? Object.create(client, { hosts: { value: trustingHosts(client.hosts, clock) } })
    pools.set(client, pool)
    return [name, Object.create(service, { client: { value: pool } })]
  })
  return Object.fromEntries(replaced) as T
}

function hasHosts(pool: Pool): pool is Required<Pool> {
  const { hosts } = pool
  const isHost = (host: Host) =>
    hasMethods(host, 'getServiceClient', 'resetAllServices') && hasMethods(host.faultHandling, 'execute')
  return Array.isArray(hosts) && hosts.every(isHost)
}

function trustingHosts(hosts: readonly Host[], clock: Clock): Host[] {
  const rules: Trust[] = []
  return hosts.map((host) => {
    const trust = new Trust(rules, () => host.resetAllServices(), clock)
    rules.push(trust)
    return {
      faultHandling: trust,
      getServiceClient: (name) => host.getServiceClient(name),
      // The pool calls this after each failure. `Trust` does it, less often.
      resetAllServices() {},
    }
  })
}

class Trust implements Policy {
  readonly #all: readonly Trust[]
  readonly #reconnect: () => void
  readonly #clock: Clock
  #failures = 0
  #triedAt = -Infinity
  #openedAt = -Infinity

  constructor(all: readonly Trust[], reconnect: () => void, clock: Clock) {
    this.#all = all
    this.#reconnect = reconnect
    this.#clock = clock
  }

  get isTrusted(): boolean {
    return this.#failures < HOST_FAILURES
  }

  async execute<T>(work: () => T | Promise<T>): Promise<T> {
    const now = this.#clock.monotonic()
    if (!this.isTrusted) {
      const isAvoided =
        now - this.#triedAt < TRY_HOST_EVERY_MS && this.#all.some(({ isTrusted }) => isTrusted)
      // The pool takes the next host.
      if (isAvoided) throw new LeaseError('store-unavailable', 'etcd: this host has failed, another is used')
      this.#triedAt = now
    }
    try {
      const result = await work()
      // A stream that was opened says nothing: nothing was sent yet.
      if (!hasMethods(result, 'write')) this.#failures = 0
      return result
    } catch (error) {
      if (etcdError(error).retryable && !isLeaseGone(error)) this.#failed()
      throw error
    }
  }

  #failed(): void {
    const now = this.#clock.monotonic()
    if (++this.#failures === HOST_FAILURES) this.#triedAt = now
    if (now - this.#openedAt < RECONNECT_EVERY_MS) return
    this.#openedAt = now
    this.#reconnect()
  }
}
