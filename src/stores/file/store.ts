import type { Stop } from '../../base/abort.ts'
import { refuse } from '../../base/arguments.ts'
import type { Clock } from '../../base/clock.ts'
import { asLeaseError, LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { compareUtf8 } from '../../base/utf8-order.ts'
import { fileError } from '../../clients/file-errors.ts'
import type { Answer, LeaseStore, ReleaseAsk, Released, Renewal } from '../../core/index.ts'
import { mayBeListed, pageOf } from '../lease-page.ts'
import {
  ask,
  Effects,
  expire,
  isForgettable,
  type LeaseRow,
  release,
  renew,
  shownRecords,
} from '../lease-row.ts'
import type { Work } from '../local/calls.ts'
import { LocalListeners } from '../local/listeners.ts'
import { checkedSoon, withProcess } from '../local/process-node.ts'
import { StoreCalls } from '../local/store-calls.ts'
import { inBatches } from './files.ts'
import { MAX_TRIES } from './generations.ts'
import type { LeaseDirectory, LoadedRow } from './lease-directory.ts'
import { keyOf, resourceOf } from './names.ts'
import { Push } from './push.ts'

const MIN_TTL_MS = 1000
/** Node works on four file operations at once. More requests would only delay renewals. */
const MAX_IN_FLIGHT = 16
/** One acquisition in so many also cleans up, but no process does so more often than this. */
const TIDY_ONE_IN = 32
const TIDY_EVERY_MS = 60_000
/** How many resources one such clean-up looks at. */
const TIDY_LIMIT = 1000
/** Longer than any change takes. A slower change fails and is repeated. */
const LEFTOVER_AGE_MS = 60_000

/** The port on a directory. Each change is decided on the row that was read, and counts only if it can be saved. */
export function openStore(directory: LeaseDirectory, clock: Clock): LeaseStore {
  const explain = (error: unknown, resource?: string) => fileError(error, 'the lease directory', resource)
  const calls = new StoreCalls({
    backend: 'file',
    explain,
    clock,
    maxInFlight: MAX_IN_FLIGHT,
    release: releaseWork,
  })
  const listeners = new LocalListeners(clock)
  const push = new Push(directory, clock, listeners)
  let tidying: Promise<void> | undefined
  let tidyAt = 0

  return {
    kind: 'file',
    supports: { queue: false, push: true, expiry: true, list: true, share: true },
    get load() {
      return calls.load
    },

    acquire: (request, call) =>
      calls.acquire(
        request,
        async (stop) => {
          const { resource, ttl } = request
          expectTtl(ttl)
          const rowAsk = withProcess(request)
          const answer = await change<Answer>(stop, resource, (row, now, effects) =>
            checkedSoon(row, ask(row, rowAsk, null, now, effects)),
          )
          // By key, because the names of changed files contain keys.
          listeners.answered({ ...request, resource: keyOf(resource) }, answer)
          if (answer.granted && !stop.reason) push.start()
          tidyNowAndThen()
          return answer
        },
        call,
      ),

    renew: (request, call) =>
      calls.renew(
        async (stop) => {
          const { resource, ttl } = request
          expectTtl(ttl)
          const rowAsk = withProcess(request)
          const step: Step<Renewal> = (row, now, effects) => renew(row, rowAsk, now, effects)
          const renewal = await change(stop, resource, step, { ok: false, holders: [] })
          if (renewal.ok) listeners.renewed(renewal.lease)
          return renewal
        },
        call,
        request.resource,
      ),

    release: (by, call) => calls.release(by, releaseWork(by), call),

    read: (resources, call) =>
      calls.run(async () => {
        const leases: LeaseRecord[][] = []
        const load = (resource: string) => directory.load(keyOf(resource), clock.now(), resource)
        for await (const loaded of inBatches(resources, load)) leases.push(shownRecordsOf(loaded))
        return leases
      }, call),

    list: (query, call) =>
      calls.scan(async () => {
        const leases: LeaseRecord[] = []
        const keys = (await keysInOrder()).filter(({ resource }) => mayBeListed(resource, query))
        for await (const loaded of inBatches(keys, ({ key }) => loadIfKnown(key))) {
          const page = pageOf([...leases, ...shownRecordsOf(loaded)], query)
          leases.splice(0, Infinity, ...page.leases)
          if (page.next) return page
        }
        return { leases }
      }, call),

    sweep: ({ limit }, call) =>
      calls.scan(async (stop) => {
        const swept: LeaseRecord[] = []
        for await (const loaded of loadAll(await directory.keys())) {
          if (swept.length >= limit || stop.reason) break
          const effects = new Effects()
          const expired = expire(loaded.row, clock.now(), effects, limit - swept.length)
          if ((await directory.save(loaded, effects)) && expired.length > 0) swept.push(...expired)
          else if (isForgettable(loaded.row, clock.now())) await directory.forget(loaded)
        }
        await removeLeftovers()
        for (const { id, token } of swept) listeners.ended(id, token)
        return swept
      }, call),

    watch: (on, { prefix } = {}) => calls.scan((stop) => push.watch(on, prefix, stop)),

    close,
    [Symbol.asyncDispose]: close,
  }

  async function close(): Promise<void> {
    const closing = calls.close()
    push.close()
    listeners.clear()
    await closing
    await tidying
  }

  function releaseWork(by: ReleaseAsk): Work<Released> {
    return (stop) => {
      if ('id' in by) listeners.forget(by.id)
      const step: Step<Released> = (row, now, effects) => release(row, by, now, effects)
      return change(stop, by.resource, step, { ended: null, holders: [] })
    }
  }

  /** Creates the resource if there is none, unless there is an answer for that case. */
  async function change<T>(stop: Stop, resource: string, step: Step<T>, ifAbsent?: T): Promise<T> {
    const key = keyOf(resource)
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      stop.throwIfAborted()
      const present = await directory.load(key, clock.now(), resource)
      if (!present && ifAbsent !== undefined) return ifAbsent
      const loaded = present ?? (await directory.create(resource, clock.now()))
      if (!loaded) continue
      const effects = new Effects()
      const answer = step(loaded.row, clock.now(), effects)
      if (!(await directory.save(loaded, effects))) continue
      listeners.carryOut(effects)
      return answer
    }
    const problem = `${resource} could not be changed in ${MAX_TRIES} tries; is a foreign file at ${directory.pathOf(key)}?`
    throw new LeaseError('store-unavailable', problem, { resource })
  }

  function shownRecordsOf(loaded: LoadedRow | null): LeaseRecord[] {
    return loaded ? shownRecords(loaded.row, clock.now()) : []
  }

  /** All resources in the order of their names. */
  async function keysInOrder(): Promise<{ readonly key: string; readonly resource: string }[]> {
    const found: { key: string; resource: string }[] = []
    const nameOf = async (key: string) => {
      const resource = resourceOf(key) ?? (await loadIfKnown(key))?.row.resource
      if (resource !== undefined) found.push({ key, resource })
    }
    for await (const _ of inBatches(await directory.keys(), nameOf));
    return found.sort((a, b) => compareUtf8(a.resource, b.resource))
  }

  async function* loadAll(keys: readonly string[]): AsyncGenerator<LoadedRow> {
    for await (const loaded of inBatches(keys, loadIfKnown)) if (loaded) yield loaded
  }

  /** `null` also if only a newer version can read it, so that one such resource stops no list and no sweep. */
  function loadIfKnown(key: string): Promise<LoadedRow | null> {
    return directory.load(key, clock.now()).catch((error: unknown) => {
      if (asLeaseError(error).code === 'other-format') return null
      throw error
    })
  }

  function tidyNowAndThen(): void {
    const now = clock.monotonic()
    if (now < tidyAt || clock.random() * TIDY_ONE_IN >= 1) return
    tidyAt = now + TIDY_EVERY_MS
    // If it fails, the next one continues.
    tidying = tidy().catch(() => {})
  }

  /** Deletes what nobody needs, but ends no lease: an expired lease is returned by a sweep or by the next grant. */
  async function tidy(): Promise<void> {
    const keys = await directory.keys()
    const start = Math.floor(clock.random() * keys.length)
    const some = [...keys.slice(start), ...keys.slice(0, start)].slice(0, TIDY_LIMIT)
    for await (const loaded of loadAll(some))
      if (isForgettable(loaded.row, clock.now())) await directory.forget(loaded)
    await removeLeftovers()
  }

  function removeLeftovers(): Promise<void> {
    return directory.removeLeftovers((changedAt) => Math.abs(clock.now() - changedAt) > LEFTOVER_AGE_MS)
  }
}

/** A transition of `lease-row.ts`. */
type Step<T> = (row: LeaseRow, now: number, effects: Effects) => T

function expectTtl(ttl: number): void {
  if (ttl >= MIN_TTL_MS) return
  const reason = 'a change takes several file operations, and a shorter lease could expire during them'
  refuse('ttl', `at least ${MIN_TTL_MS} milliseconds in a file store (${reason})`, ttl)
}
