/** The checks of `doctor`, in order. They take leases only of a resource that nobody else uses. */
import { systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { pause } from '../base/pause.ts'
import { randomId } from '../base/random-id.ts'
import type { LeaseRecord } from '../base/records.ts'
import type { LeaseStore } from '../core/index.ts'
import type { OpenedStore } from './stores/opened-store.ts'

const TTL_MS = 30_000
const PUSH_LIMIT_MS = 10_000
/** With a larger difference, the logs of two machines are hard to compare. */
const CLOCK_LIMIT_MS = 1000
/** A slower store needs a longer TTL than the default. */
const SLOW_MS = 500
const READS = 10
/** A remedy for a lease that disappeared, or a token that did not rise. */
const ROWS_DELETED = 'find out what deletes the rows or keys of Holdfast'

const MIGRATE = 'run holdfast migrate with the role that owns the tables'

export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'failure'
  readonly text: string
  /** What the user can do about a warning or a failure. */
  readonly remedy?: string
}

export interface Check {
  readonly name: string
  /** The remedy if the check throws an error that has none. */
  readonly remedy: string
  run(checked: { readonly opened: OpenedStore; readonly resource: string }): Promise<readonly Finding[]>
}

export const CHECKS: readonly Check[] = [
  {
    name: 'version',
    remedy: 'check that this is the address of the right server',
    async run({ opened }) {
      const { version, warnings } = await opened.backendInfo()
      return [ok('version', version), ...warnings.map(({ text, remedy }) => warning('setting', text, remedy))]
    },
  },
  {
    name: 'schema',
    remedy: 'give this user the right to create tables or keys, or update Holdfast',
    async run({ opened: { store }, resource }) {
      await store.read([resource])
      return [ok('schema', 'leases can be read, and this version knows their format')]
    },
  },
  {
    name: 'permissions',
    remedy: 'give this user the right to write',
    async run({ opened: { store }, resource }) {
      const lease = await take(store, resource)
      const { ok: isRenewed } = await store.renew({ resource, id: lease.id, ttl: TTL_MS })
      await store.release({ resource, id: lease.id })
      if (!isRenewed) return [failure('permissions', 'a lease could not be renewed', ROWS_DELETED)]
      return [ok('permissions', 'a lease can be acquired, renewed and released')]
    },
  },
  {
    name: 'serve',
    remedy: MIGRATE,
    async run({ opened: { store, serverParts } }) {
      // Beside a directory of leases, contents are in a file that only `serve` creates.
      const parts = store.kind === 'file' ? undefined : await serverParts?.()
      if (!parts) return []
      const { checkDependencies } = await import('../server/index.ts')
      const failures = await checkDependencies({ store, ...parts })
      await parts.bus?.close()
      const names = (['documents', 'audit', 'bus'] as const).filter((name) => parts[name] !== undefined)
      return names.map((name) => {
        const error = failures.find((failed) => failed.name === name)?.error
        if (!error) return ok(name, 'holdfast serve can use it')
        return failureOf(name, `holdfast serve cannot use it: ${error.message}`, MIGRATE)
      })
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
        : [failure('tokens', `token ${second} came after ${first}`, ROWS_DELETED)]
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
      // The store read its clock at some moment between the two.
      const precision = (received - sent) / 2
      await store.release({ resource, id })
      const apart = `the store's clock is ${Math.abs(offset).toFixed(0)} ms ${offset < 0 ? 'behind' : 'ahead of'} this machine's`
      return Math.abs(offset) < CLOCK_LIMIT_MS + precision
        ? [ok('clock', apart)]
        : [warning('clock', apart, 'leases are safe, but synchronize both clocks with NTP')]
    },
  },
  {
    name: 'push',
    remedy: 'check that this user may subscribe, and that no proxy or pooler is in between',
    async run({ opened: { store }, resource }) {
      const started = performance.now()
      const pushed = Promise.withResolvers<true>()
      await using _ = await store.watch(
        (event) => event.type === 'change' && event.lease.resource === resource && pushed.resolve(true),
        { prefix: resource },
      )
      const { id } = await take(store, resource)
      const limit = pause(systemClock, PUSH_LIMIT_MS, { background: true }).then(() => false)
      const isPushed = await Promise.race([pushed.promise, limit])
      await store.release({ resource, id })
      if (isPushed)
        return [ok('push', `a change was pushed within ${(performance.now() - started).toFixed(0)} ms`)]
      return [
        warning(
          'push',
          'changes are not pushed, so waiters retry by a timer',
          'check that this user may subscribe',
        ),
      ]
    },
  },
  {
    name: 'speed',
    remedy: 'check the network and the load of the server',
    async run({ opened: { store }, resource }) {
      const times: number[] = []
      for (let n = 0; n < READS; n++) {
        const started = performance.now()
        await store.read([resource])
        times.push(performance.now() - started)
      }
      // The median, because one slow answer says little about the others.
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
    id: randomId(),
    owner: 'holdfast doctor',
    ttl: TTL_MS,
  })
  if (!answer.granted)
    throw new LeaseError('lease-held', 'another caller holds the resource of this check; run doctor again')
  return answer.lease
}

export function ok(check: string, text: string): Finding {
  return { check, state: 'ok', text }
}

export function failure(check: string, text: string, remedy: string): Finding {
  return { check, state: 'failure', text, remedy }
}

function warning(check: string, text: string, remedy: string): Finding {
  return { check, state: 'warning', text, remedy }
}

/** The remedy in the error itself, after a semicolon, is more specific than the usual one of the check. */
export function failureOf(check: string, message: string, usualRemedy: string): Finding {
  const [text = '', ...remedy] = message.split('; ')
  return failure(check, text, remedy.join('; ') || usualRemedy)
}
