/**
 * A job is a record as JSON under one key. Its lock is another key, attached to an etcd lease: the job is locked while
 * that key exists. So etcd itself ends the lock, and no clock of a worker decides.
 */
import { expectOptions, expectText, isObject } from '../base/arguments.ts'
import { systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import {
  type EtcdClient,
  type EtcdCondition,
  type EtcdDatabase,
  type EtcdEntry,
  type EtcdOperation,
  etcdDatabase,
} from '../clients/etcd.ts'
import { etcdError } from '../clients/etcd-errors.ts'
import { expectEtcdSize } from '../clients/etcd-size.ts'
import type { DocumentDecision, DocumentFields, JobDocument } from './document-format.ts'
import { documentJobs, type JobDocuments } from './document-jobs.ts'
import type { JobStore } from './job-store.ts'
import { DOCUMENT_FIELDS, fieldsOf, type JobFields, statusesOf } from './naming.ts'
import { writeUnlessChanged } from './optimistic.ts'
import { DEFAULT_JOBS, type EtcdJobsOptions, SWEEP_PAGE } from './options.ts'
import { parseJson, parseTime } from './stored-values.ts'

interface FoundJob {
  readonly record: EtcdEntry | undefined
  readonly lock: EtcdEntry | undefined
  /** When it was read, by the clock of this process. */
  readonly now: number
  /** Milliseconds that the lock has left. */
  readonly remaining: number
}

/**
 * Jobs in etcd. A lock ends with an etcd lease, whose TTL is rounded up to whole seconds. It uses your client and
 * leaves it open.
 *
 * @example
 * const once = createOnce(etcdJobs(new Etcd3({ hosts })))
 */
export function etcdJobs(client: EtcdClient, options: EtcdJobsOptions = {}): JobStore {
  const database = etcdDatabase(client)
  expectOptions(options, { prefix: 1, fields: 1, statuses: 1 })
  const { prefix = `${DEFAULT_JOBS}/` } = options
  expectText('prefix', prefix)
  const names = fieldsOf('fields', DOCUMENT_FIELDS, options.fields)
  const documents = new EtcdDocuments(database, database.prefix + prefix, names)
  return {
    ...documentJobs(documents, names, statusesOf(options.statuses)),
    allow: (callTimeout) => database.limit.allow(callTimeout),
  }
}

class EtcdDocuments implements JobDocuments {
  readonly kind = 'etcd'
  readonly #database: EtcdDatabase
  readonly #prefix: string
  readonly #names: JobFields

  constructor(database: EtcdDatabase, prefix: string, names: JobFields) {
    this.#database = database
    this.#prefix = prefix
    this.#names = names
  }

  create(id: string, fields: DocumentFields): Promise<void> {
    const key = this.#recordKey(id)
    return explained(id, async () => {
      await this.#database.transact([isAt(key, undefined)], [{ put: key, value: JSON.stringify(fields) }])
    })
  }

  read(id: string): Promise<JobDocument | null> {
    return explained(id, async () => this.#documentOf(id, await this.#find(id)))
  }

  transact<T>(id: string, decide: (document: JobDocument | null) => DocumentDecision<T>): Promise<T> {
    const stored = {
      read: () => this.#find(id),
      write: (fields: DocumentFields, found: FoundJob) => this.#write(id, fields, found),
      limit: this.#database.limit,
    }
    return explained(id, () => writeUnlessChanged(stored, (found) => decide(this.#documentOf(id, found))))
  }

  async #find(id: string): Promise<FoundJob> {
    const { results } = await this.#database.transact(
      [],
      [{ get: { key: this.#recordKey(id) } }, { get: { key: this.#lockKey(id) } }],
    )
    const [record, lock] = results.map(({ entries }) => entries[0])
    if (lock?.lease === '0') throw damaged(id, `an etcd lease at the key ${lock.key}`)
    const now = systemClock.now()
    // Rounded up: it must not seem to have ended before it has.
    const secondsLeft = lock ? 1 + (await this.#database.secondsLeft(lock.lease)) : 0
    return { record, lock, now, remaining: 1000 * secondsLeft }
  }

  /** Resolves with whether neither the record nor the lock has changed. */
  async #write(id: string, fields: DocumentFields, found: FoundJob): Promise<boolean> {
    const { record, lock } = found
    const operations: EtcdOperation[] = []
    const {
      [this.#names.lockOwner]: owner,
      [this.#names.lockExpiresAt]: expiry,
      [this.#names.lockHeartbeatAt]: beat,
      ...stored
    } = fields
    if (Object.keys(stored).length > 0) {
      const value = JSON.stringify({ ...fieldsIn(id, record), ...stored })
      expectEtcdSize('the record of a job', value, id)
      operations.push({ put: this.#recordKey(id), value })
    }
    const expiresAt = parseTime(expiry)
    const seconds = Math.ceil(((expiresAt ?? found.now) - found.now) / 1000)
    const lease = seconds > 0 ? (await this.#database.grantLease(seconds)).lease : undefined
    if (lease !== undefined) {
      const locked = {
        ...fieldsIn(id, lock),
        ...(owner !== undefined && { [this.#names.lockOwner]: owner }),
        [this.#names.lockExpiresAt]: expiry,
        [this.#names.lockHeartbeatAt]: beat,
      }
      operations.push({ put: this.#lockKey(id), value: JSON.stringify(locked), lease })
    } else if (lock && expiry === null) operations.push({ remove: this.#lockKey(id) })
    const { succeeded, results } = await this.#database.transact(
      [isAt(this.#recordKey(id), record), isAt(this.#lockKey(id), lock)],
      operations,
      [{ get: { key: this.#lockKey(id) } }],
    )
    // The client repeats a request whose answer was lost.
    const isOurs = succeeded || (lease !== undefined && results[0]?.entries[0]?.lease === lease)
    const unused = isOurs ? lock?.lease : lease
    // In the background: without keys, it ends by itself.
    if (unused !== undefined) this.#database.revokeLease(unused).catch(() => {})
    return isOurs
  }

  /** etcd has no index, so this reads all jobs, a page at a time. */
  sweep(limit: number): Promise<number> {
    return explained(undefined, async () => {
      const [first, end] = [this.#recordKey(''), `${this.#prefix}job0`]
      const now = systemClock.now()
      let deleted = 0
      for (let from = first; deleted < limit; ) {
        const range = { key: from, end, limit: SWEEP_PAGE }
        const { results } = await this.#database.transact([], [{ get: range }])
        const entries = results[0]?.entries ?? []
        for (const entry of entries) if (deleted < limit && (await this.#deleteIfOver(entry, now))) deleted++
        const last = entries.at(-1)
        if (!last || entries.length < SWEEP_PAGE) break
        from = `${last.key}\0`
      }
      return deleted
    })
  }

  async #deleteIfOver(record: EtcdEntry, now: number): Promise<boolean> {
    const id = record.key.slice(this.#recordKey('').length)
    const fields = parseJson(record.value)
    const keptUntil = isObject(fields) ? parseTime((fields as DocumentFields)[this.#names.keptUntil]) : null
    if (keptUntil === null || !(keptUntil <= now)) return false
    const conditions = [isAt(record.key, record), isAt(this.#lockKey(id), undefined)]
    return (await this.#database.transact(conditions, [{ remove: record.key }])).succeeded
  }

  #documentOf(id: string, { record, lock, now, remaining }: FoundJob): JobDocument | null {
    if (!record) return null
    const fields: Record<string, unknown> = {
      ...fieldsIn(id, record),
      [this.#names.lockOwner]: fieldsIn(id, lock)[this.#names.lockOwner],
      [this.#names.lockExpiresAt]: lock && new Date(now + remaining),
    }
    return { get: (field) => fields[field], now, updatedAt: null }
  }

  #recordKey(id: string): string {
    return `${this.#prefix}job/${id}`
  }

  #lockKey(id: string): string {
    return `${this.#prefix}lock/${id}`
  }
}

async function explained<T>(id: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw etcdError(error, id)
  }
}

function isAt(key: string, entry: EtcdEntry | undefined): EtcdCondition {
  return { key, compare: 'modified', is: 'equal', than: entry?.modified ?? 0 }
}

/** Throws if it is not a JSON object, and it stays as it is. */
function fieldsIn(id: string, entry: EtcdEntry | undefined): DocumentFields {
  if (!entry) return {}
  const fields = parseJson(entry.value)
  if (!isObject(fields)) throw damaged(id, `a JSON object under the key ${entry.key}`)
  return fields as DocumentFields
}

function damaged(id: string, expected: string): LeaseError {
  return new LeaseError('store-failed', `etcd: expected ${expected}`, { resource: id })
}
