import type { WaitingRecord } from '../../core/index.ts'
import {
  auditPage,
  DEFAULT_RESULTS,
  errorBody,
  lockShown,
  locksListed,
  MAX_RESOURCE_LENGTH,
  stats as statsSchema,
  success,
  toWire,
} from '../../protocol/index.ts'
import { observed } from '../announcer.ts'
import { integer, oneOf, text } from '../http/query.ts'
import { type Route, route } from '../http/route.ts'
import { type Identity, roomOf } from '../identity.ts'
import { errorFields, type Log } from '../log.ts'
import { QueueCensus } from '../queue-census.ts'
import type { Service } from '../service.ts'
import { statsRanges } from '../stats.ts'
import { viewedRooms, viewersOf } from '../viewers.ts'
import { after, firstShown, limit, listQuery, prefix } from './leases.ts'
import { lockNotFound } from './lock-replies.ts'

const before = integer(1, Number.MAX_SAFE_INTEGER, 'The `next` of the previous page.')
const resource = text(MAX_RESOURCE_LENGTH, 'Only entries about this resource.')
const token = integer(1, Number.MAX_SAFE_INTEGER, 'Only the lease with this token.')
const range = oneOf(statsRanges, 'The time that the buckets cover. Default 15m.')

/** For the people who run the service, and for the dashboard. */
export function administrationRoutes(service: Service): Route[] {
  return [...leaseRoutes(service), ...figureRoutes(service)]
}

/** Looks at the leases of all resources, and ends them. */
function leaseRoutes(service: Service): Route[] {
  const { store, locks, feed, log, names } = service
  return [
    route('GET', '/api/locks', {
      id: 'listLocks',
      action: 'observe',
      summary:
        'All leases that are live or `kept`, of rooms and others, without their ids, and how many wait for each.',
      query: { prefix, after, limit },
      answers: { 200: locksListed },
      async handle(request) {
        const { leases, ...page } = await store.list(listQuery(request))
        // Of leases that other programs took, a store that cannot push tells only here.
        for (const lease of leases) feed.observe(lease)
        const resources = [...new Set(leases.map(({ resource }) => resource))]
        const queues = await queuesOf(service, resources, 0).catch((error: unknown) => {
          // One queue that cannot be read must not hide the leases.
          log('warn', 'waiting', errorFields(error))
          return []
        })
        const waiting = new Map(resources.map((resource, n) => [resource, queues[n]?.count]))
        const shown = leases.map((lease) => ({
          ...observed(names.current(lease)),
          waiting: waiting.get(lease.resource) ?? null,
        }))
        return { body: { locks: shown, ...page } }
      },
    }),
    route('GET', '/api/locks/{resource}', {
      id: 'showLock',
      action: 'observe',
      summary:
        'The leases of a resource that are live or `kept`, its waiters, without their ids, and who has the room open.',
      query: { limit },
      answers: { 200: lockShown },
      async handle(request) {
        const { resource } = request
        const [[leases = []], [queue], seesPeople] = await Promise.all([
          store.read([resource]),
          queuesOf(service, [resource], request.query('limit', limit) ?? DEFAULT_RESULTS),
          maySeePeople(service, request.identity),
        ])
        const holders = leases.map((lease) => observed(names.current(lease)))
        const shown = queue?.first.map(({ owner, share, place }) => toWire({ owner, share, place })) ?? []
        return {
          body: {
            lock: firstShown(holders),
            holders,
            waiting: queue?.count ?? null,
            queue: seesPeople ? withNames(service, resource, shown) : shown,
            viewers: seesPeople ? viewersOf(service, resource) : [],
          },
        }
      },
    }),
    route('DELETE', '/api/locks/{resource}', {
      id: 'forceRelease',
      action: 'admin',
      summary: 'End all leases of a resource by force. That of a room is `document:` and its name.',
      query: { token },
      answers: { 200: success, 404: errorBody },
      async handle(request) {
        const { resource, identity } = request
        const only = request.query('token', token)
        if (await locks.forceRelease(resource, identity.publicId, only)) return { body: { success: true } }
        throw lockNotFound()
      },
    }),
  ]
}

/** The audit trail and the figures. */
function figureRoutes(service: Service): Route[] {
  const { audit, stats, feed, settings, clock, log } = service
  const warnOfDamaged = damagedWarning(log)
  const census = new QueueCensus({
    clock,
    resources: () => feed.resources,
    count: async (resources) => (await queuesOf(service, resources, 0)).map((queue) => queue?.count ?? null),
  })
  return [
    route('GET', '/api/audit', {
      id: 'readAudit',
      action: 'admin',
      summary: 'Who locked, unlocked and took over which resource. The newest entry is first.',
      query: { resource, before, limit },
      answers: { 200: auditPage },
      async handle(request) {
        const from = request.query('before', before)
        const { damaged = [], ...page } = await audit.read({
          limit: request.query('limit', limit) ?? DEFAULT_RESULTS,
          ...(from !== undefined && { before: from }),
          ...(request.resource !== '' && { resource: request.resource }),
        })
        warnOfDamaged(damaged)
        return { body: page }
      },
    }),
    route('GET', '/api/stats', {
      id: 'readStats',
      action: 'observe',
      summary: 'The last 15 minutes in buckets of ten seconds, or the last day in buckets of five minutes.',
      query: { range },
      answers: { 200: statsSchema },
      async handle(request) {
        const figures = stats.read(request.query('range', range) ?? '15m')
        const { total, queues } = await census.read().catch((error: unknown) => {
          log('warn', 'waiting', errorFields(error))
          return { total: null, queues: [] }
        })
        const { channelKey: channel_key } = settings
        const { live, kept } = feed
        const viewed = (await maySeePeople(service, request.identity)) ? viewedRooms(service) : []
        return { body: { live, kept, waiters: total, queues, viewed, ...figures, channel_key } }
      },
    }),
  ]
}

/** Programs may observe the leases, which do not name waiters and readers. Only administrators see those. */
async function maySeePeople({ authorize }: Service, identity: Identity): Promise<boolean> {
  return authorize(identity, 'admin', '')
}

/** The store knows only the owners. Those who wait for a room have told their names. */
function withNames<Waiter extends { readonly owner: string }>(
  { roomQueues }: Service,
  resource: string,
  waiters: readonly Waiter[],
): (Waiter & { name?: string })[] {
  const room = roomOf(resource)
  const people = room === null ? [] : roomQueues.of(room).first
  const names = new Map(people.map(({ session_id, name }) => [session_id, name]))
  return waiters.map((waiter) => {
    const name = names.get(waiter.owner)
    return name === undefined ? waiter : { ...waiter, name }
  })
}

/** Those who wait for a resource, without their ids. */
interface ShownQueue {
  readonly count: number
  readonly first: readonly Omit<WaitingRecord, 'id'>[]
}

/**
 * The waiters of these resources, in one call to the store. If the store keeps no queue, only the rooms are known, by
 * what the nodes have told each other.
 */
async function queuesOf(
  { store, roomQueues }: Service,
  resources: readonly string[],
  limit: number,
): Promise<readonly (ShownQueue | null)[]> {
  if (store.waiting) return store.waiting({ resources, limit })
  return resources.map((resource) => {
    const room = roomOf(resource)
    if (room === null) return null
    const { first, count } = roomQueues.of(room)
    const shown = first
      .slice(0, limit)
      .map(({ session_id }, place) => ({ owner: session_id, share: null, place }))
    return { count, first: shown }
  })
}

/** Warns once about each entry, because a dashboard reads the trail every few seconds. */
function damagedWarning(log: Log): (numbers: readonly number[]) => void {
  const reported = new Set<number>()
  return (numbers) => {
    const found = numbers.filter((number) => !reported.has(number))
    if (found.length === 0) return
    for (const number of found) reported.add(number)
    log('warn', 'audit', { error: 'these entries cannot be read, and are skipped', numbers: found })
  }
}
