import type { JsonObject } from '../../base/records.ts'
import { checkResource, isLonger } from '../../base/resource-name.ts'
import type { Ask, LeasePage, ListQuery } from '../../core/index.ts'
import {
  type LeaseAsk,
  leaseAsk,
  leaseGrant,
  leaseLost,
  leaseRefusal,
  leaseRelease,
  leaseReleased,
  leaseRenewal,
  leaseRenewed,
  leasesRead,
  leasesSwept,
  sweepQuery,
} from '../../protocol/index.ts'
import { forbidden, HttpError } from '../http/http-error.ts'
import { integer, text } from '../http/query.ts'
import { type Route, type RouteRequest, route } from '../http/route.ts'
import { errorFields } from '../log.ts'
import type { Service } from '../service.ts'

const PATH = '/api/leases/{resource}'
const COLLECTION = '/api/leases'
const READ_AT_ONCE = 100
/** The same limit as in the core. */
const MAX_METADATA_BYTES = 4096

const resource = text(512, 'The resource, if its name cannot be part of a path: `.` and `..`.')
export const prefix = text(512, 'Only resources that begin with this text.')
export const after = text(512, 'Only resources that sort after this one: the `next` of the previous page.')
export const limit = integer(1, 1000, 'The largest number of results. Default 100.')

/**
 * The store's port over HTTP, on the same leases as the rooms: any id, any TTL, a place in the queue, takeover,
 * release by id or by token. Pushes go to the client's private channel. Ids are shown, so `authorize` must trust the
 * sender.
 */
export function leaseRoutes(service: Service): Route[] {
  const { store, locks } = service
  const withResource = resourceRoutes(service)
  return [
    ...withResource,
    ...withResource.map(byQuery),
    route('GET', PATH, {
      id: 'readLease',
      action: 'lease',
      summary: 'The live lease of a resource.',
      answers: { 200: leasesRead },
      handle: async (request) => ({ body: { leases: await store.read([request.resource]) } }),
    }),
    route('GET', COLLECTION, {
      id: 'readLeases',
      action: 'lease',
      summary:
        'The live leases of these resources, in their order. Without names: all live leases, in pages.',
      query: { resource, prefix, after, limit },
      answers: { 200: leasesRead },
      async handle(request) {
        const names = request.queries('resource')
        const body =
          names.length > 0 ? await readNamed(service, request, names) : await listAllowed(service, request)
        return { body }
      },
    }),
    route('POST', '/api/sweep', {
      id: 'sweepLeases',
      action: 'lease',
      summary: 'End expired leases. Each lease is returned to one request, ever.',
      body: sweepQuery,
      answers: { 200: leasesSwept },
      handle: async ({ body }) => ({ body: { leases: await locks.sweep(body.limit) } }),
    }),
  ]
}

function resourceRoutes(service: Service): Route[] {
  const { store, locks, stats } = service
  return [
    route('POST', PATH, {
      id: 'acquireLease',
      action: 'lease',
      summary: 'Ask for the lease. With `wait`, join the queue and be woken by push.',
      body: leaseAsk,
      answers: { 200: leaseGrant, 409: leaseRefusal },
      async handle(request) {
        const answer = await store.acquire(askOf(service, request))
        if (!answer.granted) {
          stats.onRefused()
          return {
            status: 409,
            body: { error: 'lease_held', message: 'another id holds the lease', ...answer },
          }
        }
        await locks.settle(answer, request.identity.publicId)
        return { body: answer }
      },
    }),
    route('PUT', PATH, {
      id: 'renewLease',
      action: 'lease',
      summary: 'Renew a live lease by its id.',
      body: leaseRenewal,
      answers: { 200: leaseRenewed, 409: leaseLost },
      async handle({ resource, body }) {
        const renewal = await store.renew({ resource, ...body })
        if (renewal.ok) return { body: renewal }
        return {
          status: 409,
          body: { error: 'lease_lost', message: 'this id does not hold the lease', ...renewal },
        }
      },
    }),
    route('DELETE', PATH, {
      id: 'releaseLease',
      action: 'lease',
      summary: 'Release whatever the id has, or end the lease with this token by force.',
      body: leaseRelease,
      answers: { 200: leaseReleased },
      async handle({ resource, body, identity }) {
        const released = await store.release({ resource, ...body })
        const action = 'id' in body ? 'unlock' : 'force-release'
        if (released.ended) locks.ended(released.ended, action, identity.publicId)
        return { body: released }
      },
    }),
  ]
}

/** The same route with the resource in the query. */
function byQuery(original: Route): Route {
  return {
    ...original,
    path: COLLECTION,
    id: `${original.id}ByQuery`,
    query: { resource },
    handle(request) {
      if (request.resource === '') throw new HttpError(400, 'invalid_query', 'resource: expected a name')
      return original.handle(request)
    },
  }
}

async function readNamed(
  { store, authorize }: Service,
  { identity }: RouteRequest<unknown>,
  names: readonly string[],
) {
  if (names.length > READ_AT_ONCE)
    throw new HttpError(400, 'invalid_query', `resource: expected at most ${READ_AT_ONCE}`)
  for (const name of names) if (!(await authorize(identity, 'lease', name))) throw forbidden('lease')
  return { leases: await store.read(names.map(checkResource)) }
}

async function listAllowed(
  { store, authorize }: Service,
  request: RouteRequest<unknown>,
): Promise<LeasePage> {
  const page = await store.list(listQuery(request))
  const allowed = await Promise.all(
    page.leases.map((lease) => authorize(request.identity, 'lease', lease.resource)),
  )
  return { ...page, leases: page.leases.filter((_, n) => allowed[n]) }
}

export function listQuery(request: RouteRequest<unknown>): ListQuery {
  const [start, from] = [request.query('prefix', prefix), request.query('after', after)]
  return {
    limit: request.query('limit', limit) ?? 100,
    ...(start !== undefined && { prefix: start }),
    ...(from !== undefined && { after: from }),
  }
}

function askOf({ announcer, log }: Service, { resource, body }: RouteRequest<LeaseAsk>): Ask {
  const { wait, client, metadata, ...ask } = body
  if (metadata && isLonger(JSON.stringify(metadata), MAX_METADATA_BYTES))
    throw new HttpError(400, 'invalid_body', `metadata: expected at most ${MAX_METADATA_BYTES} bytes of JSON`)
  const push = (name: 'lease.wake' | 'lease.lost', more: { in_ms?: number }) => {
    if (client === undefined) return
    // If a push fails, the client still asks again by itself.
    announcer
      .publishToClient(client, name, { resource, id: ask.id, ...more })
      .catch((error: unknown) => log('warn', 'push', errorFields(error)))
  }
  return {
    resource,
    ...ask,
    ...(metadata && { metadata: metadata as JsonObject }),
    ...(wait && { wake: (inMs: number) => push('lease.wake', { in_ms: inMs }) }),
    ...(client !== undefined && { lost: () => push('lease.lost', {}) }),
  }
}
