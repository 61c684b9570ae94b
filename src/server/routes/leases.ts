import { checkResource } from '../../base/resource-name.ts'
import type { Ask, LeaseRecord } from '../../core/index.ts'
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
import { type Call, type Route, route } from '../http/route.ts'
import type { Service } from '../service.ts'

const PATH = '/api/leases/{resource}'
const COLLECTION = '/api/leases'
const READ_AT_ONCE = 100
/** As the core has it for its own callers. */
const MAX_METADATA_BYTES = 4096
const utf8 = new TextEncoder()

const resource = text(512, 'The resource, where its name cannot stand in a path: `.` and `..`.')

/**
 * The store's port over HTTP, on the same leases as the rooms: any id, any TTL, a place in line, take-over, release
 * by id or by token. Pushes go to the client's private channel. For callers that `authorize` trusts: ids are shown.
 */
export function leaseRoutes(service: Service): Route[] {
  const { store, authorize, locks, stats } = service
  const perResource = [
    route({
      ...{ method: 'POST', path: PATH, id: 'acquireLease', action: 'lease' },
      summary: 'Ask for the lease; with `wait`, stand in line and be woken by push.',
      body: leaseAsk,
      answers: { 200: leaseGrant, 409: leaseRefusal },
      async handle(call) {
        const answer = await store.acquire(askOf(service, call))
        if (!answer.granted) {
          stats.onRefused()
          return { status: 409, body: { error: 'lease_held', message: 'another has it', ...answer } }
        }
        await locks.settle(answer, call.identity.publicId)
        return { body: answer }
      },
    }),
    route({
      ...{ method: 'PUT', path: PATH, id: 'renewLease', action: 'lease' },
      summary: 'Renew a live lease by its id.',
      body: leaseRenewal,
      answers: { 200: leaseRenewed, 409: leaseLost },
      async handle({ resource, body }) {
        const renewal = await store.renew({ resource, ...body })
        if (renewal.ok) return { body: renewal }
        return {
          status: 409,
          body: { error: 'lease_lost', message: 'it is not, or no more, yours', ...renewal },
        }
      },
    }),
    route({
      ...{ method: 'DELETE', path: PATH, id: 'releaseLease', action: 'lease' },
      summary: 'Give up what the id has, or end the lease with this token by force.',
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
  return [
    ...perResource,
    ...perResource.map(
      (one): Route => ({
        ...one,
        path: COLLECTION,
        id: `${one.id}ByQuery`,
        query: { resource },
        handle(call) {
          if (call.resource === '') throw new HttpError(400, 'invalid_query', 'resource: expected a name')
          return one.handle(call)
        },
      }),
    ),
    route({
      ...{ method: 'GET', path: PATH, id: 'readLease', action: 'lease' },
      summary: 'The live lease of a resource.',
      answers: { 200: leasesRead },
      handle: async (call) => ({ body: { leases: await store.read([call.resource]) } }),
    }),
    route({
      ...{ method: 'GET', path: COLLECTION, id: 'readLeases', action: 'lease' },
      summary: 'The live leases of these resources, in their order; without names, all in pages.',
      query: { resource, prefix, after, limit },
      answers: { 200: leasesRead },
      async handle(call) {
        const names = call.queries('resource')
        return { body: names.length > 0 ? await readNamed(call, names) : await listAllowed(call) }
      },
    }),
    route({
      ...{ method: 'POST', path: '/api/sweep', id: 'sweepLeases', action: 'lease' },
      summary: 'End what has run out; each lease is handed to one caller, ever.',
      body: sweepQuery,
      answers: { 200: leasesSwept },
      handle: async ({ body }) => ({ body: { leases: await locks.sweep(body.limit) } }),
    }),
  ]

  async function readNamed({ identity }: Call<unknown>, names: readonly string[]) {
    if (names.length > READ_AT_ONCE)
      throw new HttpError(400, 'invalid_query', `resource: expected at most ${READ_AT_ONCE}`)
    for (const name of names) if (!(await authorize(identity, 'lease', name))) throw forbidden('lease')
    return { leases: await store.read(names.map(checkResource)) }
  }

  async function listAllowed(call: Call<unknown>) {
    const page = await store.list(listQuery(call))
    const allowed = await Promise.all(
      page.leases.map((lease) => authorize(call.identity, 'lease', lease.resource)),
    )
    return { ...page, leases: page.leases.filter((_, n) => allowed[n]) }
  }
}

export const prefix = text(512, 'Only resources that begin with this.')
export const after = text(512, 'Only resources that sort after this one: the `next` of the page before.')
export const limit = integer(1, 1000, 'At most so many. Default 100.')

export function listQuery(call: Call<unknown>): { prefix?: string; after?: string; limit: number } {
  const [from, start] = [call.query('after', after), call.query('prefix', prefix)]
  return {
    limit: call.query('limit', limit) ?? 100,
    ...(start !== undefined && { prefix: start }),
    ...(from !== undefined && { after: from }),
  }
}

function askOf({ announcer, log }: Service, { resource, body }: Call<LeaseAsk>): Ask {
  const { id, wait, client, metadata, ...ask } = body
  if (utf8.encode(JSON.stringify(metadata ?? {})).length > MAX_METADATA_BYTES)
    throw new HttpError(400, 'invalid_body', `metadata: expected at most ${MAX_METADATA_BYTES} bytes of JSON`)
  const push = (name: 'lease.wake' | 'lease.lost', more: { in_ms?: number }) => {
    if (client === undefined) return
    // The client asks again by itself all the same.
    announcer
      .tellClient(client, name, { resource, id, ...more })
      .catch((error: unknown) => log('warn', 'push', { error: String(error) }))
  }
  return {
    resource,
    id,
    ...ask,
    ...(metadata && { metadata: metadata as NonNullable<LeaseRecord['metadata']> }),
    ...(wait && { wake: (inMs: number) => push('lease.wake', { in_ms: inMs }) }),
    ...(client !== undefined && { lost: () => push('lease.lost', {}) }),
  }
}
