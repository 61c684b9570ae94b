/** The checks of `doctor`, in order. They take leases only of a resource that nobody else uses. */
import { systemClock } from '../base/clock.ts'
import { LeaseError, messageOf } from '../base/errors.ts'
import { pause } from '../base/pause.ts'
import { randomId } from '../base/random-id.ts'
import type { LeaseRecord } from '../base/records.ts'
import { redactText } from '../base/redact.ts'
import type { LeaseStore } from '../core/index.ts'
import { CLOCK_LIMIT_MS, DOCTOR_READS, DOCTOR_TTL_MS, PUSH_LIMIT_MS, SLOW_MS } from './options.ts'
import type { OpenedStore } from './stores/opened-store.ts'
import { remedyFor } from './stores/remedies.ts'

/** A remedy for a lease that disappeared, or a token that did not rise. */
const ROWS_DELETED = 'find out what deletes the rows or keys of Holdfast'

const CHECK_SUBSCRIBE = 'check that this user may subscribe'

/** Stores whose tables `migrate` creates. */
const TABLES = ['postgres', 'mysql', 'sqlite']
const MIGRATE = 'run holdfast migrate with the role that owns the tables'
const ASK_FOR_RIGHTS = 'give this user the right to read, write and subscribe'

export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'failure'
  readonly text: string
  /** What the user can do about a warning or a failure. */
  readonly remedy?: string
}

export interface Check {
  readonly name: string
  /** Leases work also if this check fails: it is only a warning, and the next checks go on. */
  readonly isOptional?: boolean
  /** The remedy if the check throws an error that has none. */
  readonly remedy: string
  run(checked: Checked): Promise<readonly Finding[]>
}

export interface Checked {
  readonly opened: OpenedStore
  readonly resource: string
  /** The address, without secrets. */
  readonly shown: string
}

export const CHECKS: readonly Check[] = [
  {
    name: 'version',
    isOptional: true,
    remedy: 'leases work without it; let this user ask the server about itself',
    async run({ opened }) {
      const { version, warnings } = await opened.backendInfo()
      return [ok('version', version), ...warnings.map(({ text, remedy }) => warning('setting', text, remedy))]
    },
  },
  {
    name: 'commands',
    isOptional: true,
    remedy: ASK_FOR_RIGHTS,
    async run({ opened }) {
      const { leases, serve } = (await opened.deniedCommands?.()) ?? { leases: [], serve: [] }
      const grant = (commands: readonly string[]) =>
        `ACL SETUSER <user> ${commands.map((command) => `+${command}`).join(' ')}`
      const said = (commands: readonly string[]) => `this user may not run ${commands.join(', ')}`
      return [
        ...(leases.length > 0 ? [failure('commands', said(leases), grant(leases))] : []),
        ...(serve.length > 0
          ? [warning('commands', `${said(serve)}, which holdfast serve needs`, grant(serve))]
          : []),
      ]
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
      // Names the rights that only waiters, shared leases and sweeps need.
      await store.check?.()
      const lease = await take(store, resource)
      const { ok: isRenewed } = await store.renew({ resource, id: lease.id, ttl: DOCTOR_TTL_MS })
      await store.release({ resource, id: lease.id })
      if (!isRenewed) return [failure('permissions', 'a lease could not be renewed', ROWS_DELETED)]
      return [ok('permissions', 'a lease can be acquired, renewed and released')]
    },
  },
  {
    name: 'serve',
    isOptional: true,
    remedy: 'leases work without it; holdfast serve needs it',
    async run({ opened: { store, serverParts }, shown }) {
      // Beside a directory of leases, contents are in a file that only `serve` creates.
      const parts = store.kind === 'file' ? undefined : await serverParts?.()
      if (!parts) return []
      const { checkDependencies } = await import('../server/index.ts')
      const failures = await checkDependencies({ store, ...parts })
      await parts.bus?.close()
      const names = (['documents', 'audit', 'bus', 'secrets'] as const).filter(
        (name) => parts[name] !== undefined,
      )
      return names.map((name) => {
        const error = failures.find((failed) => failed.name === name)?.error
        if (!error) return ok(name, 'holdfast serve can use it')
        const remedy = remedyFor(error, shown) ?? (TABLES.includes(store.kind) ? MIGRATE : ASK_FOR_RIGHTS)
        return failureOf(name, `holdfast serve cannot use it: ${withListenFlag(error.message)}`, remedy)
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
    isOptional: true,
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
    isOptional: true,
    remedy: 'check that this user may subscribe, and that no proxy or pooler is in between',
    async run({ opened: { store }, resource }) {
      const pushed = await timeOfPush(store, resource).catch((error: LeaseError) => error)
      const polls = store.supports.queue ? await pollingReason(store, resource) : undefined
      if (polls)
        return [{ ...failureOf('push', withListenFlag(polls.message), CHECK_SUBSCRIBE), state: 'warning' }]
      if (pushed instanceof Error) throw pushed
      return pushed === null
        ? [warning('push', 'changes are not pushed, so waiters retry by a timer', CHECK_SUBSCRIBE)]
        : [ok('push', `a change was pushed within ${pushed.toFixed(0)} ms`)]
    },
  },
  {
    name: 'speed',
    isOptional: true,
    remedy: 'check the network and the load of the server',
    async run({ opened: { store }, resource }) {
      const times: number[] = []
      for (let n = 0; n < DOCTOR_READS; n++) {
        const started = performance.now()
        await store.read([resource])
        times.push(performance.now() - started)
      }
      // The median, because one slow answer says little about the others.
      const each = times.sort((a, b) => a - b)[DOCTOR_READS / 2] ?? 0
      const text = `a read takes ${each.toFixed(1)} ms`
      return each < SLOW_MS
        ? [ok('speed', text)]
        : [warning('speed', text, `use a --ttl of ${Math.ceil((each * 60) / 1000)}s or more`)]
    },
  },
]

/** In milliseconds; `null`: no change was pushed in time. */
async function timeOfPush(store: LeaseStore, resource: string): Promise<number | null> {
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
  return isPushed ? performance.now() - started : null
}

/** Why a caller that waits would have to poll. */
async function pollingReason(store: LeaseStore, resource: string): Promise<LeaseError | undefined> {
  const holder = await take(store, resource)
  const waiter = { resource, id: randomId(), owner: holder.owner, ttl: DOCTOR_TTL_MS, wake: () => {} }
  const answer = await store.acquire(waiter)
  for (const { id } of [waiter, holder]) await store.release({ resource, id })
  return answer.granted ? undefined : answer.polls
}

async function take(store: LeaseStore, resource: string): Promise<LeaseRecord> {
  const answer = await store.acquire({
    resource,
    id: randomId(),
    owner: 'holdfast doctor',
    ttl: DOCTOR_TTL_MS,
  })
  if (!answer.granted)
    throw new LeaseError('lease-held', 'another caller holds the resource of this check; run doctor again')
  return answer.lease
}

export function ok(check: string, text: string): Finding {
  return { check, state: 'ok', text }
}

function failure(check: string, text: string, remedy: string): Finding {
  return { check, state: 'failure', text, remedy }
}

export function warning(check: string, text: string, remedy: string): Finding {
  return { check, state: 'warning', text, remedy }
}

/** The finding for a check that has thrown. */
export function thrownBy({ name, isOptional, remedy }: Check, error: unknown, shown: string): Finding {
  const finding = failureOf(name, withListenFlag(messageOf(error)), remedyFor(error, shown) ?? remedy)
  return isOptional ? { ...finding, state: 'warning' } : finding
}

/** Errors of the library name its option. On the command line it is a flag. */
function withListenFlag(message: string): string {
  return message.replace(
    /: pass a (direct one|client) .*option listen/,
    '; name the direct connection with --listen',
  )
}

/** The remedy in the error itself, after a semicolon, is more specific than the usual one of the check. */
export function failureOf(check: string, message: string, usualRemedy: string): Finding {
  const [text = '', ...remedy] = redactText(message).split('; ')
  return failure(check, text, remedy.join('; ') || usualRemedy)
}
