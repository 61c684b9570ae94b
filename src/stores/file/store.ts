import {
  type Answer,
  type CallOptions,
  type Clock,
  LeaseError,
  type LeaseRecord,
  type LeaseStore,
  type Renewal,
} from '../../core/index.ts'
import { ask, Effects, type LeaseRow, liveRecord, release, renew } from '../lease-row.ts'
import { Feed } from './feed.ts'
import { inBatches } from './in-batches.ts'
import type { Entry, Ledger } from './ledger.ts'
import { MAX_TRIES } from './lineage.ts'
import { keyOf, resourceOf } from './names.ts'
import { sweep, tidy } from './sweep.ts'

const MIN_TTL_MS = 1000
/** One acquisition in so many also cleans up, but no process does so more often than this. */
const TIDY_ONE_IN = 32
const TIDY_EVERY_MS = 60_000

/** The store on a ledger. Each change is decided on the row that was read, and counts only if it can be saved. */
export function openStore(ledger: Ledger, clock: Clock): LeaseStore {
  const feed = new Feed(ledger, clock)
  let tidying: Promise<void> | undefined
  let tidyAt = 0
  let closed = false

  async function run<T>(call: CallOptions | undefined, work: () => Promise<T>): Promise<T> {
    if (closed) throw new LeaseError('closed', 'this file store was closed')
    return call?.signal ? untilAborted(work, call.signal) : work()
  }

  /** Creates the resource if there is none, unless there is an answer for that case. */
  async function change<T>(
    resource: string,
    step: (row: LeaseRow, now: number, effects: Effects) => T,
    ifAbsent?: T,
  ): Promise<T> {
    const key = keyOf(resource)
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const present = await ledger.load(key, clock.now(), resource)
      if (!present && ifAbsent !== undefined) return ifAbsent
      const entry = present ?? (await ledger.create(resource, clock.now()))
      if (!entry) continue
      const effects = new Effects()
      const answer = step(entry.row, clock.now(), effects)
      const ended = effects.changes.find((lease) => lease.state !== 'held') ?? null
      if (!(await ledger.save(entry, ended))) continue
      if (ended) tellHolder(ended)
      return answer
    }
    const problem = `no change of ${resource} in ${MAX_TRIES} tries; is something foreign in ${ledger.placeOf(key)}?`
    throw new LeaseError('store-unavailable', problem, { resource })
  }

  function tellHolder({ resource, id }: LeaseRecord): void {
    feed.unfollow(keyOf(resource), id)?.()
  }

  function view(entry: Entry | null): LeaseRecord | null {
    return entry && liveRecord(entry.row, clock.now())
  }

  function tidyNowAndThen(): void {
    const now = clock.monotonic()
    if (now < tidyAt || clock.random() * TIDY_ONE_IN >= 1) return
    tidyAt = now + TIDY_EVERY_MS
    // Whatever it could not do now, the next one will.
    tidying = tidy(ledger, clock).catch(() => {})
  }

  return {
    kind: 'file',
    supports: { queue: false, push: true, expiry: true, list: true },

    acquire(request, call) {
      return run(call, async () => {
        expectTtl(request.ttl)
        const { resource, id, lost } = request
        const answer = await change<Answer>(resource, (row, now, effects) =>
          ask(row, request, null, now, effects),
        )
        if (answer.granted && lost) feed.follow(keyOf(resource), id, lost)
        tidyNowAndThen()
        return answer
      })
    },

    renew({ resource, id, ttl }, call) {
      return run(call, async () => {
        expectTtl(ttl)
        return change<Renewal>(resource, (row, now, effects) => renew(row, id, ttl, now, effects), {
          ok: false,
          holder: null,
        })
      })
    },

    release(by, call) {
      return run(call, async () => {
        if ('id' in by) feed.unfollow(keyOf(by.resource), by.id)
        return change(by.resource, (row, now, effects) => release(row, by, now, effects), {
          ended: null,
          holder: null,
        })
      })
    },

    read(resources, call) {
      return run(call, async () => {
        const load = (resource: string) => ledger.load(keyOf(resource), clock.now(), resource)
        const leases: (LeaseRecord | null)[] = []
        for await (const entry of inBatches(resources, load)) leases.push(view(entry))
        return leases
      })
    },

    list({ prefix = '', limit, after = '' }, call) {
      return run(call, async () => {
        const leases: LeaseRecord[] = []
        const load = ({ key }: { key: string }) => ledger.load(key, clock.now())
        const names = (await namedKeys()).filter(({ name }) => name.startsWith(prefix) && name > after)
        for await (const entry of inBatches(names, load)) {
          const lease = view(entry)
          if (lease) leases.push(lease)
          if (leases.length > limit) break
        }
        const last = leases[limit - 1]
        return {
          leases: leases.slice(0, limit),
          ...(last && leases.length > limit && { next: last.resource }),
        }
      })
    },

    sweep({ limit }, call) {
      return run(call, async () => {
        const swept = await sweep(ledger, clock, limit)
        for (const lease of swept) tellHolder(lease)
        return swept
      })
    },

    watch(on, { prefix = '' } = {}) {
      return run(undefined, () => feed.listen(on, prefix))
    },

    async close() {
      closed = true
      feed.close()
      await tidying
    },
  }

  /** All resources in the order of their names. */
  async function namedKeys(): Promise<{ key: string; name: string }[]> {
    const named: { key: string; name: string }[] = []
    const nameOf = async (key: string) => {
      const name = resourceOf(key) ?? (await ledger.load(key, clock.now()))?.row.resource
      if (name !== undefined) named.push({ key, name })
    }
    for await (const _ of inBatches(await ledger.keys(), nameOf));
    return named.sort((a, b) => (a.name < b.name ? -1 : 1))
  }
}

function expectTtl(ttl: number): void {
  if (ttl >= MIN_TTL_MS) return
  const reason = 'a change takes several file operations, and a shorter lease could run out during them'
  throw new LeaseError(
    'invalid-argument',
    `ttl: expected at least ${MIN_TTL_MS} milliseconds in a file store (${reason}), got ${ttl}`,
  )
}

function untilAborted<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new LeaseError('aborted', 'the call was aborted', { cause: signal.reason }))
    if (signal.aborted) return onAbort()
    const settle = () => signal.removeEventListener('abort', onAbort)
    signal.addEventListener('abort', onAbort)
    work().then(resolve, reject).then(settle, settle)
  })
}
