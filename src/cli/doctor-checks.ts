/** What the doctor looks at, in order. Each check is harmless: it uses a resource with a name of its own. */
import type { LeaseRecord, LeaseStore } from '../../core/index.ts'
import type { OpenedStore } from '../stores/opened-store.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

const TTL_MS = 30_000
const PUSH_LIMIT_MS = 10_000
/** Beyond it logs of two machines are hard to read side by side. */
const CLOCK_LIMIT_MS = 1000
/** A store that is slower than this needs a longer TTL than is usual. */
const SLOW_MS = 500
const READS = 10

export interface Patient {
  readonly opened: OpenedStore
  readonly resource: string
}

export interface Check {
  readonly name: string
  /** What to do when the check itself fails. */
  readonly remedy: string
  run(patient: Patient): Promise<readonly Finding[]>
}

export const CHECKS: readonly Check[] = [
  {
    name: 'version',
    remedy: 'check that the address is that of the server you mean',
    async run({ opened }) {
      const { version, concerns } = await opened.examine()
      return [
        ok('version', version),
        ...concerns.map(({ about, remedy }) => warning('setting', about, remedy)),
      ]
    },
  },
  {
    name: 'schema',
    remedy: 'give this user the right to make the tables or keys, or update Holdfast',
    async run({ opened: { store }, resource }) {
      await store.read([resource])
      return [ok('schema', 'the leases can be read, in the form that this version knows')]
    },
  },
  {
    name: 'permissions',
    remedy: 'give this user the right to write',
    async run({ opened: { store }, resource }) {
      const lease = await take(store, resource)
      const { ok: isRenewed } = await store.renew({ resource, id: lease.id, ttl: TTL_MS })
      await store.release({ resource, id: lease.id })
      if (!isRenewed)
        return [
          failure('permissions', 'a lease could not be renewed', 'look for what deletes its rows or keys'),
        ]
      return [ok('permissions', 'a lease can be taken, renewed and released')]
    },
  },
  {
    name: 'tokens',
    remedy: 'give this user the right to write',
    async run({ opened: { store }, resource }) {
      const tokens: number[] = []
      for (let n = 0; n < 2; n++) {
        const { id, token } = await take(store, resource)
        tokens.push(token)
        await store.release({ resource, id })
      }
      const [first = 0, second = 0] = tokens
      return second > first
        ? [ok('tokens', 'tokens rise')]
        : [failure('tokens', `token ${second} came after ${first}`, 'look for what deletes its rows or keys')]
    },
  },
  {
    name: 'clock',
    remedy: 'give this user the right to write',
    async run({ opened: { store }, resource }) {
      const sent = Date.now()
      const { id, acquiredAt } = await take(store, resource)
      const received = Date.now()
      const offset = acquiredAt - (sent + received) / 2
      // The store looked at its clock at some moment in between.
      const precision = (received - sent) / 2
      await store.release({ resource, id })
      const apart = `the store's clock is ${Math.abs(offset).toFixed(0)} ms ${offset < 0 ? 'behind' : 'ahead of'} this machine's`
      return Math.abs(offset) < CLOCK_LIMIT_MS + precision
        ? [ok('clock', apart)]
        : [warning('clock', apart, 'leases are safe, but set both clocks by NTP')]
    },
  },
  {
    name: 'push',
    remedy: 'check that this user may subscribe, and that no proxy or pooler stands between',
    async run({ opened: { store }, resource }) {
      const started = performance.now()
      const told = Promise.withResolvers<'told'>()
      await using _ = await store.watch(
        (event) => event.type === 'change' && event.lease.resource === resource && told.resolve('told'),
        { prefix: resource },
      )
      const { id } = await take(store, resource)
      const limit = new Promise<'late'>((resolve) => setTimeout(resolve, PUSH_LIMIT_MS, 'late').unref())
      const outcome = await Promise.race([told.promise, limit])
      await store.release({ resource, id })
      if (outcome === 'told')
        return [ok('push', `a change was told within ${(performance.now() - started).toFixed(0)} ms`)]
      return [
        warning(
          'push',
          'changes are not told; who waits asks again by a timer',
          'check that this user may subscribe',
        ),
      ]
    },
  },
  {
    name: 'speed',
    remedy: 'look at the network and at the load of the server',
    async run({ opened: { store }, resource }) {
      const times: number[] = []
      for (let n = 0; n < READS; n++) {
        const started = performance.now()
        await store.read([resource])
        times.push(performance.now() - started)
      }
      // Not the mean: one that was held up says little of the others.
      const each = times.sort((a, b) => a - b)[READS / 2] ?? 0
      const text = `a read takes ${each.toFixed(1)} ms`
      return each < SLOW_MS
        ? [ok('speed', text)]
        : [warning('speed', text, `use a --ttl of ${Math.ceil((each * 60) / 1000)}s or more`)]
    },
  },
]

async function take(store: LeaseStore, resource: string): Promise<LeaseRecord> {
  const answer = await store.acquire({
    resource,
    id: crypto.randomUUID(),
    owner: 'holdfast doctor',
    ttl: TTL_MS,
  })
  if (!answer.granted) throw new Error('another holds the resource of this check; run it again')
  return answer.lease
}
