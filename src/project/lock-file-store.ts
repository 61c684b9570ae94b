/**
 * The port on `project/.lock`. The resource is the scope, and the owner is the id of the project lease: that is what
 * the file shows. The file has no room for a token; the time of the last change stands for one, which is enough to
 * end by force just what was seen.
 */
import {
  type Answer,
  type Clock,
  LeaseError,
  type LeaseRecord,
  type LeaseStore,
  type Renewal,
} from '../core/index.ts'
import { createCalls, type DirectorySource, gatedFile, REMOVAL_MS } from '../stores/web/index.ts'
import { isLive, type LockRecord, type LockRecords, readRecords, TTL_MS, writeRecords } from './lock-file.ts'

/** Begins the id of a record that belongs to nobody: whoever wrote it is about to remove the file. */
const LEAVING = 'leaving:'

type Release = Awaited<ReturnType<LeaseStore['release']>>

interface Step<T> {
  readonly result: T
  /** What is to be in the file; absent: it stays as it is. */
  readonly records?: LockRecords
}

export function lockFileStore(project: DirectorySource, clock: Clock): LeaseStore {
  const calls = createCalls('lock-file')
  const file = gatedFile(project, '.lock', clock)
  const leaving = LEAVING + crypto.randomUUID()
  /** The project leases behind the ids of the core. */
  const owners = new Map<string, string>()
  /** Records of ours that could not be removed: to us they are free. */
  const leftBehind = new Set([leaving])
  /** The file holds nothing, but could not be removed. */
  let isLitter = false

  return {
    kind: 'lock-file',
    supports: { queue: false, push: false, expiry: true, list: true },

    acquire: ({ resource, id, owner, ttl }, call) =>
      calls.run(async () => {
        // What cannot be removed now either is overwritten.
        await collect().catch(() => {})
        owners.set(id, owner)
        const answer = await change<Answer>((records, now) => {
          const holder = records.get(resource)
          if (holder && holder.id !== owner && isLive(holder, now)) {
            const refusal = { holder: describe(resource, holder, now), place: null, retryIn: null }
            // One that was cut to the TTL is written back: from now on it must end no later than that.
            const wasCut = holder.ttlExpiresAt === now + TTL_MS
            return { result: { granted: false, ...refusal }, ...(wasCut && { records }) }
          }
          const record = { id: owner, ttlExpiresAt: now + ttl, mtime: now }
          const lease = { ...describe(resource, record, now), id }
          const replaced = holder && holder.id !== owner && describe(resource, holder, now)
          return {
            result: { granted: true, lease, ...(replaced && { replaced }) },
            records: new Map(records).set(resource, record),
          }
        }, true)
        if (!answer.granted) owners.delete(id)
        return answer
      }, call),

    renew: ({ resource, id, ttl }, call) =>
      calls.run(
        () =>
          change<Renewal>((records, now) => {
            const held = records.get(resource)
            if (!held || held.id !== owners.get(id) || !isLive(held, now))
              return { result: { ok: false, holder: liveLease(records, resource, now) } }
            const record = { ...held, ttlExpiresAt: now + ttl, mtime: now }
            const lease = describe(resource, record, now)
            return { result: { ok: true, lease }, records: new Map(records).set(resource, record) }
          }),
        call,
      ),

    release: (by, call) =>
      calls.run(async () => {
        const owner = 'id' in by ? owners.get(by.id) : undefined
        const isMeant = (held: LockRecord) => ('id' in by ? held.id === owner : tokenOf(held) === by.token)
        try {
          await collect()
          const outcome = await change<Release>((records, now) => {
            const held = records.get(by.resource)
            if (!held || !isMeant(held))
              return { result: { ended: null, holder: liveLease(records, by.resource, now) } }
            const state = isLive(held, now) ? 'released' : 'expired'
            const ended = { ...describe(by.resource, held, now), state } as const
            return { result: { ended, holder: null }, records: without(records, [by.resource]) }
          })
          if ('id' in by) owners.delete(by.id)
          return outcome
        } catch (cause) {
          if (owner) leftBehind.add(owner)
          // Worth another try whatever it was: nobody else can remove it before its TTL is over.
          throw new LeaseError('store-unavailable', `.lock could not be removed: ${cause}`, { cause })
        }
      }, call),

    read: (resources, call) =>
      calls.run(async () => {
        const { records, now } = await look()
        return resources.map((resource) => liveLease(records, resource, now))
      }, call),

    list: ({ prefix = '', limit, after = '' }, call) =>
      calls.run(async () => {
        const { records, now } = await look()
        const scopes = [...records.keys()].filter((scope) => scope.startsWith(prefix) && scope > after).sort()
        const leases = scopes.map((scope) => liveLease(records, scope, now)).filter((lease) => lease !== null)
        return { leases: leases.slice(0, limit) }
      }, call),

    sweep: ({ limit }, call) =>
      calls.run(
        () =>
          change((records, now) => {
            const expired = [...records].filter(([, record]) => !isLive(record, now)).slice(0, limit)
            const rest = without(
              records,
              expired.map(([scope]) => scope),
            )
            const swept = expired.map(([scope, record]) => describe(scope, record, now))
            return { result: swept, ...(swept.length > 0 && { records: rest }) }
          }),
        call,
      ),

    watch: () => calls.run(async () => ({ async [Symbol.asyncDispose]() {} })),

    close: async () => calls.close(),
  }

  async function change<T>(step: (records: LockRecords, now: number) => Step<T>, create = false): Promise<T> {
    isLitter = false
    const result = await file.change(
      (content) => {
        const now = clock.now()
        const { result, records } = step(ownView(readRecords(content, now), now), now)
        if (!records) return { result }
        isLitter = ![...records.values()].some((record) => isLive(record, now))
        if (!isLitter) return { result, text: writeRecords(records, now) }
        const marker = { id: leaving, ttlExpiresAt: now + REMOVAL_MS, mtime: now }
        return { result, text: writeRecords(new Map([['autosave', marker]]), now), remove: true }
      },
      { create },
    )
    isLitter = false
    return result
  }

  /** Removes a file that a release had to leave. */
  async function collect(): Promise<void> {
    if (isLitter) await change((records) => ({ result: undefined, records }))
  }

  async function look(): Promise<{ records: LockRecords; now: number }> {
    const content = await file.read()
    const now = clock.now()
    return { records: readRecords(content, now), now }
  }

  /** Without what we left behind. Throws as a closed gate does while another tab is removing the file. */
  function ownView(records: LockRecords, now: number): LockRecords {
    const mine = [...records].filter(([, { id }]) => leftBehind.has(id)).map(([scope]) => scope)
    const rest = without(records, mine)
    for (const record of rest.values())
      if (record.id.startsWith(LEAVING) && isLive(record, now))
        throw new DOMException('.lock is being removed', 'NoModificationAllowedError')
    return rest
  }
}

function without(records: LockRecords, scopes: readonly string[]): LockRecords {
  return new Map([...records].filter(([scope]) => !scopes.includes(scope)))
}

function liveLease(records: LockRecords, scope: string, now: number): LeaseRecord | null {
  const record = records.get(scope)
  return record && isLive(record, now) ? describe(scope, record, now) : null
}

function describe(resource: string, record: LockRecord, now: number): LeaseRecord {
  const { id, mtime: acquiredAt, ttlExpiresAt: expiresAt } = record
  const remaining = Math.max(0, expiresAt - now)
  const state = remaining > 0 ? 'held' : 'expired'
  const token = tokenOf(record)
  return { resource, id, owner: id, token, metadata: null, acquiredAt, expiresAt, remaining, state }
}

function tokenOf({ mtime }: LockRecord): number {
  return Math.floor(mtime * 1000)
}
