/**
 * The port on `project/.lock`. The resource is the scope, and the owner is the id of the project lease: that is what
 * the file shows. The file has no room for a token: the time of the last change stands for it, and nobody ends a
 * lease by it.
 */
import {
  type Answer,
  type Clock,
  LeaseError,
  type LeaseRecord,
  type LeaseStore,
  type Renewal,
} from '../core/index.ts'
import { AGAIN, type DirectorySource, gatedFile, REMOVAL_MS } from '../stores/browser/index.ts'
import { isLive, LEAVING, type LockRecord, readRecords, TTL_MS } from './lock-file.ts'
import type { LockScope } from './types.ts'
import { unlisted } from './unlisted.ts'

interface View {
  /** The record of the scope, live or not. */
  readonly held: LockRecord | undefined
  /** The same as others see it, if it is live. */
  readonly holder: LeaseRecord | null
  readonly now: number
}

/** An answer, and what is to take the record's place: `null` nothing, absent it stays. */
type Step<T> = (view: View) => readonly [answer: T, next?: LockRecord | null | undefined]

export interface LockFileStore extends LeaseStore {
  /** Removes the record of the scope, whoever wrote it. */
  clear(scope: LockScope): Promise<void>
}

/** `onBeat` is told of each renewal when it goes out: the core tells of it when it is answered. */
export function lockFileStore(
  project: DirectorySource,
  clock: Clock,
  onBeat: (owner: string) => void,
): LockFileStore {
  const file = gatedFile(project, '.lock', clock)
  const leaving = LEAVING + crypto.randomUUID()
  /** The project leases behind the ids of the core. */
  const owners = new Map<string, string>()
  /** Records of ours that could not be removed: to us they are free. */
  const leftBehind = new Set([leaving])

  return {
    ...unlisted,
    kind: 'lock-file',
    supports: { queue: false, push: false, expiry: true, list: false },

    async acquire({ resource, id, owner, ttl }) {
      owners.set(id, owner)
      const step: Step<Answer> = ({ held, holder, now }) => {
        if (holder && holder.owner !== owner)
          // One that was cut to the TTL is written back: from now on it must end no later than that.
          return [
            { granted: false, holder, place: null, retryIn: null },
            holder.remaining === TTL_MS && held ? { ...held } : undefined,
          ]
        const next = { id: owner, ttlExpiresAt: now + ttl, mtime: now }
        const lease = { ...describe(resource, next, now), id }
        const replaced = held && held.id !== owner && describe(resource, held, now)
        return [{ granted: true, lease, ...(replaced && { replaced }) }, next]
      }
      const answer = await change(resource, step, true)
      if (!answer.granted) owners.delete(id)
      return answer
    },

    renew({ resource, id, ttl }) {
      const owner = owners.get(id) ?? ''
      onBeat(owner)
      return change<Renewal>(resource, ({ holder, now }) => {
        if (holder?.id !== owner) return [{ ok: false, holder }]
        const next = { id: owner, ttlExpiresAt: now + ttl, mtime: now }
        return [{ ok: true, lease: describe(resource, next, now) }, next]
      })
    },

    async release({ resource, id }: { resource: string; id: string }) {
      const owner = owners.get(id)
      try {
        const outcome = await change<Awaited<ReturnType<LeaseStore['release']>>>(
          resource,
          ({ held, holder, now }) => {
            if (!held || held.id !== owner) return [{ ended: null, holder }]
            const state = holder ? 'released' : 'expired'
            return [{ ended: { ...describe(resource, held, now), state }, holder: null }, null]
          },
        )
        owners.delete(id)
        return outcome
      } catch (cause) {
        if (owner) leftBehind.add(owner)
        // Worth another try whatever it was: nobody else can remove it before its TTL is over.
        throw new LeaseError('store-unavailable', `${cause}`, { cause })
      }
    },

    clear: (scope) => change<void>(scope, ({ held }) => [undefined, held && null]),
  }

  function change<T>(scope: string, step: Step<T>, create = false): Promise<T> {
    return file.change((content) => {
      const now = clock.now()
      const found = Object.entries(readRecords(content, now))
      const others = found.filter(([, { id }]) => !leftBehind.has(id))
      const records = Object.fromEntries(others)
      const removal = Object.values(records).find(({ id }) => id.startsWith(LEAVING))
      // Another tab is removing the file. A mark that was cut is written back, as above.
      if (isLive(removal, now)) {
        const wasCut = removal.ttlExpiresAt === now + REMOVAL_MS
        return { result: AGAIN, text: wasCut ? JSON.stringify(records) : undefined }
      }
      const held = records[scope]
      const holder = isLive(held, now) ? describe(scope, held, now) : null
      const [result, next = held] = step({ held, holder, now })
      if (next === held && others.length === found.length) return { result }
      // Records that have run out are orphans, and go with the first write.
      const left = Object.entries({ ...records, [scope]: next }).filter(([, record]) => isLive(record, now))
      if (left.length > 0) return { result, text: JSON.stringify(Object.fromEntries(left)) }
      const marker = { id: leaving, ttlExpiresAt: now + REMOVAL_MS, mtime: now }
      return { result, text: JSON.stringify({ [scope]: marker }), remove: true }
    }, create)
  }
}

function describe(resource: string, record: LockRecord, now: number): LeaseRecord {
  const { id, mtime: acquiredAt, ttlExpiresAt: expiresAt } = record
  const remaining = Math.max(0, expiresAt - now)
  const state = remaining ? 'held' : 'expired'
  const token = acquiredAt * 1000
  return { resource, id, owner: id, token, metadata: null, acquiredAt, expiresAt, remaining, state }
}
