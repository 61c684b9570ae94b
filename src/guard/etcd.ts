import { expectText, isObject, refuse } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import { warnOnce } from '../base/warn.ts'
import { type EtcdClient, type EtcdOperation, etcdDatabase } from '../clients/etcd.ts'
import { expectEtcdSize } from '../clients/etcd-size.ts'
import { expectFence, expectFresh, type Fence, type Seen } from './fence.ts'

export interface EtcdGuard {
  /** The key that stores the fence. Delete it only when nobody can write the guarded key any more. */
  readonly fenceKey: string
  /**
   * Records the lease, so that older ones cannot write any more. Rejects with `stale-token` if the guard has seen a
   * newer lease. It protects no write of yours: `set` does. Errors of the client are passed on unchanged.
   *
   * @throws `stale-token`
   */
  announce(lease: Fence): Promise<void>
  /** @deprecated It is `announce`: a check alone protects no later write. */
  check(lease: Fence): Promise<void>
  /**
   * Checks and sets the value in one transaction.
   *
   * @throws `stale-token`
   */
  set(lease: Fence, value: string): Promise<void>
}

/**
 * Guards one key of etcd.
 *
 * @example
 * await etcdGuard(client, 'document:42').set(lease, body)
 */
export function etcdGuard(client: EtcdClient, key: string): EtcdGuard {
  const database = etcdDatabase(client)
  expectText('key', key)
  const fenceKey = `${key}:fence`
  const storedAt = database.prefix + fenceKey

  async function run(lease: Fence, writes: readonly EtcdOperation[]): Promise<void> {
    expectFence(lease)
    const { token, id } = lease
    for (;;) {
      const { results } = await database.transact([], [{ get: { key: storedAt } }])
      const [entry] = results[0]?.entries ?? []
      expectFresh(lease, entry ? seenIn(fenceKey, entry.value) : null)
      const { succeeded } = await database.transact(
        [{ key: storedAt, compare: 'modified', is: 'equal', than: entry?.modified ?? 0 }],
        [{ put: storedAt, value: JSON.stringify({ token, id }) }, ...writes],
      )
      if (succeeded) return
    }
  }

  const announce = (lease: Fence) => run(lease, [])

  return {
    fenceKey,
    announce,
    check(lease) {
      warnOnce('etcdGuard: check() is now announce(), because it protects no later write: write with set()')
      return announce(lease)
    },
    async set(lease, value) {
      if (typeof value !== 'string') refuse('value', 'a string', value)
      expectEtcdSize('a value', value)
      await run(lease, [{ put: database.prefix + key, value }])
    },
  }
}

function seenIn(fenceKey: string, text: string): Seen {
  try {
    const seen: unknown = JSON.parse(text)
    if (isObject(seen)) {
      const { token, id } = seen
      if (Number.isSafeInteger(token) && typeof id === 'string') return { token: token as number, id }
    }
  } catch {
    // The same as JSON of another kind.
  }
  throw new LeaseError('store-failed', `etcd: expected a fence under the key ${fenceKey}`)
}
