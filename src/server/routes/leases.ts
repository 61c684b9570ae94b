import { MAX_METADATA_BYTES, MAX_NAME_BYTES } from '../../base/options.ts'
import type { JsonObject, LeaseRecord } from '../../base/records.ts'
import { checkResource, isLonger } from '../../base/resource-name.ts'
import type {
  Ask,
  LeasePage,
  LeaseStore,
  ListQuery,
  Refusal,
  ReleaseAsk,
  RenewAsk,
} from '../../core/index.ts'
import {
  DEFAULT_RESULTS,
  fromWire,
  type LeaseAsk,
  type LeaseBatch,
  leaseAsk,
  leaseBatch,
  leaseBatchAnswers,
  leaseGrant,
  leaseLost,
  leaseRead,
  leaseRefusal,
  leaseRelease,
  leaseReleased,
  leaseRenewal,
  leaseRenewed,
  leasesRead,
  leasesSwept,
  MAX_RESOURCE_LENGTH,
  MAX_RESULTS,
  sweepQuery,
  toWire,
} from '../../protocol/index.ts'
import type { HttpErrorCode } from '../http/error-codes.ts'
import { asHttpError, forbidden, HttpError } from '../http/http-error.ts'
import { integer, type QueryParameter, text } from '../http/query.ts'
import { type Reply, type Route, type RouteRequest, route } from '../http/route.ts'
import { type Identity, roomOf } from '../identity.ts'
import { errorFields } from '../log.ts'
import { MAX_READ_LEASES } from '../options.ts'
import type { Service } from '../service.ts'

const PATH = '/api/leases/{resource}'
const COLLECTION = '/api/leases'

/** A cursor is a resource, a tab and a token. */
const MAX_CURSOR = MAX_NAME_BYTES + 17

const resource = text(
  MAX_RESOURCE_LENGTH,
  'The resource, if its name cannot be part of a path: `.` and `..`.',
)
const resources: QueryParameter<string> = {
  ...text(MAX_RESOURCE_LENGTH, `Up to ${MAX_READ_LEASES} resources, each as a parameter of its own.`),
  isRepeated: true,
}
export const prefix = text(MAX_RESOURCE_LENGTH, 'Only resources that begin with this text.')
export const after = text(
  MAX_CURSOR,
  'The `next` of the previous page, or a resource: only resources that sort after it.',
)
const waiting = integer(
  0,
  MAX_RESULTS,
  'How many waiters of each resource to list. The answer also has their number.',
)
export const limit = integer(1, MAX_RESULTS, `The largest number of results. Default ${DEFAULT_RESULTS}.`)

/**
 * The store's port over HTTP, on the same leases as the rooms: any id, any TTL, a place in the queue, takeover,
 * release by id or by token. Pushes go to the client's private channel. Ids are shown, so `authorize` must trust the
 * sender.
 */
export function leaseRoutes(service: Service): Route[] {
  const { locks } = service
  const withResource = resourceRoutes(service)
  return [
    ...withResource,
    ...withResource.map(byQuery),
    route('GET', PATH, {
      id: 'readLease',
      action: 'lease',
      summary: 'The leases of a resource that are live or `kept`.',
      query: { waiting },
      answers: { 200: leaseRead },
      handle: async (request) => ({ body: await readLeases(service, request, [request.resource]) }),
    }),
    route('GET', COLLECTION, {
      id: 'readLeases',
      action: 'lease',
      summary:
        'The leases of these resources that are live or `kept`, in their order. Without names: all, in pages.',
      query: { resource: resources, prefix, after, limit, waiting },
      answers: { 200: leasesRead },
      async handle(request) {
        const names = request.queries('resource')
        const body =
          names.length > 0 ? await readNamed(service, request, names) : await listAllowed(service, request)
        return { body }
      },
    }),
    route('POST', '/api/batch', {
      id: 'keepLeases',
      action: 'identified',
      rate: 'holder',
      summary: 'Renew and release many leases. Each has its own answer, in their order.',
      body: leaseBatch,
      limit: 'maxDocument',
      answers: { 200: leaseBatchAnswers },
      async handle({ body, identity }) {
        const answers = body.calls.map((call) => answerInBatch(service, call, identity))
        return { body: { answers: await Promise.all(answers) } }
      },
    }),
    route('POST', '/api/sweep', {
      id: 'sweepLeases',
      action: 'lease',
      summary:
        'End expired leases. Each lease is returned to one request, ever, and to nobody who may not see it.',
      body: sweepQuery,
      answers: { 200: leasesSwept },
      async handle({ body, identity }) {
        const swept = await allowedOf(service, identity, await locks.sweep(body.limit))
        return { body: { leases: swept.map(toWire) } }
      },
    }),
  ]
}

function resourceRoutes(service: Service): Route[] {
  const { locks, stats, clientPlaces } = service
  return [
    route('POST', PATH, {
      id: 'acquireLease',
      action: 'lease',
      summary: 'Ask for the lease. With `wait`, join the queue and be woken by push.',
      body: leaseAsk,
      answers: { 200: leaseGrant, 409: leaseRefusal },
      async handle(request) {
        const ask = askOf(service, request)
        const holders = ask.replace === 'any' ? locks.known(ask.resource) : []
        const { identity, limitKey, body } = request
        const address = identity.role === 'session' ? limitKey : undefined
        const answer = await clientPlaces.acquire(ask, { client: body.client, address })
        // A request that joined the queue has no result yet.
        if (answer.granted || answer.place === null) stats.onAnswered(answer.granted)
        if (!answer.granted) {
          return {
            status: 409,
            body: {
              error: 'lease_held' satisfies HttpErrorCode,
              message: refusalOf(answer),
              ...answer,
              ...holding(answer),
            },
          }
        }
        const { lease, replaced } = answer
        await locks.acceptGrant(answer, request.identity.publicId, holders)
        return {
          body: { granted: true, lease: toWire(lease), ...(replaced && { replaced: toWire(replaced) }) },
        }
      },
    }),
    route('PUT', PATH, {
      id: 'renewLease',
      action: 'lease',
      rate: 'holder',
      summary: 'Renew a live lease by its id.',
      body: leaseRenewal,
      answers: { 200: leaseRenewed, 409: leaseLost },
      handle: ({ resource, body }) => renewLease(service, { resource, ...body }),
    }),
    route('DELETE', PATH, {
      id: 'releaseLease',
      action: 'lease',
      rate: 'holder',
      summary: 'Release whatever the id has, or end the lease with this token by force.',
      body: leaseRelease,
      answers: { 200: leaseReleased },
      handle: ({ resource, body, identity }) => releaseLease(service, { resource, ...body }, identity),
    }),
  ]
}

async function renewLease({ store }: Service, ask: RenewAsk): Promise<Reply> {
  const renewal = await store.renew(ask)
  if (renewal.ok) return { body: { ok: true, lease: toWire(renewal.lease) } }
  return {
    status: 409,
    body: {
      error: 'lease_lost' satisfies HttpErrorCode,
      message: 'this id does not hold the lease',
      ok: false,
      ...holding(renewal),
    },
  }
}

async function releaseLease(
  { store, locks, clientPlaces }: Service,
  by: ReleaseAsk,
  { publicId }: Identity,
): Promise<Reply> {
  const released = await store.release(by)
  const { ended } = released
  clientPlaces.released(by)
  if (ended) locks.ended(ended, 'id' in by ? 'unlock' : 'force-release', publicId)
  return { body: { ended: ended && toWire(ended), ...holding(released) } }
}

/** Who holds the resource: the oldest live lease, and all of them. */
function holding({ holders }: { readonly holders: readonly LeaseRecord[] }) {
  const all = holders.map(toWire)
  return { holder: all[0] ?? null, holders: all }
}

function refusalOf({ holders, keptFor }: Refusal): string {
  if (holders.length > 0) return 'others hold the lease'
  return keptFor === undefined
    ? 'the lease is reserved for those who wait'
    : `a lease that has ended keeps the resource for ${Math.ceil(keptFor)} ms more`
}

/** The status and body that the same call gets by itself. One that fails does not affect the others. */
async function answerInBatch(
  service: Service,
  { method, resource: name, body }: LeaseBatch['calls'][number],
  identity: Identity,
): Promise<{ status: number; body: object | string }> {
  try {
    const resource = checkResource(name)
    if (!(await service.authorize(identity, 'lease', resource))) throw forbidden('lease', resource)
    const reply =
      method === 'PUT'
        ? await renewLease(service, { resource, ...body })
        : await releaseLease(service, { resource, ...body }, identity)
    return { status: 200, ...reply }
  } catch (error) {
    const { status, code, message } = asHttpError(error)
    if (status >= 500) service.log('error', 'batch', { resource: name, ...errorFields(error) })
    return { status, body: { error: code, message } }
  }
}

/** The same route with the resource in the query. */
function byQuery(original: Route): Route {
  return {
    ...original,
    path: COLLECTION,
    id: `${original.id}ByQuery`,
    query: { resource: { ...resource, isRequired: true } },
  }
}

async function readNamed(service: Service, request: RouteRequest<unknown>, names: readonly string[]) {
  if (names.length > MAX_READ_LEASES)
    throw new HttpError(400, 'invalid_query', `resource: expected at most ${MAX_READ_LEASES}`)
  const resources = names.map(checkResource)
  for (const name of resources)
    if (!(await service.authorize(request.identity, 'lease', name))) throw forbidden('lease', name)
  return readLeases(service, request, resources)
}

async function readLeases(service: Service, request: RouteRequest<unknown>, resources: readonly string[]) {
  const holders = (await service.store.read(resources)).map((leases) => leases.map(toWire))
  const leases = holders.map(firstShown)
  return withQueues(service, request, { leases, holders }, resources)
}

/** The oldest live lease, or if nobody holds the resource, the one that keeps it. */
export function firstShown<Lease extends Pick<LeaseRecord, 'state'>>(leases: readonly Lease[]): Lease | null {
  return leases.find(({ state }) => state === 'held') ?? leases[0] ?? null
}

async function listAllowed(service: Service, request: RouteRequest<unknown>) {
  const { leases, ...page } = await allowedPage(service, request)
  const resources = leases.map(({ resource }) => resource)
  return withQueues(service, request, { ...page, leases: leases.map(toWire) }, resources)
}

/**
 * A page of the leases that the sender may see. `next` names the last lease of a page, so a page never ends with a
 * lease that the sender may not see: it goes on until it is full, or until there are no more leases.
 */
async function allowedPage(service: Service, request: RouteRequest<unknown>): Promise<LeasePage> {
  const { store } = service
  const query = listQuery(request)
  const leases: LeaseRecord[] = []
  for (let part = query; ; ) {
    const page = await store.list(part)
    const allowed = await allowedOf(service, request.identity, page.leases)
    leases.push(...allowed.slice(0, query.limit - leases.length))
    const last = leases.at(-1)
    if (last && leases.length === query.limit)
      return { leases, ...(await nextAfter(store, part, page, last)) }
    if (page.next === undefined) return { leases }
    request.signal.throwIfAborted()
    part = { ...query, after: page.next, limit: MAX_RESULTS }
  }
}

/** The `next` of a page that ends with this lease of the page that was read. */
async function nextAfter(
  store: LeaseStore,
  query: ListQuery,
  { leases, next }: LeasePage,
  last: LeaseRecord,
): Promise<Pick<LeasePage, 'next'>> {
  const length = leases.indexOf(last) + 1
  if (length === leases.length) return next === undefined ? {} : { next }
  const shorter = await store.list({ ...query, limit: length })
  const { resource, token } = shorter.leases.at(-1) ?? last
  // If leases have come or gone meanwhile, the next page begins after the resource.
  if (resource !== last.resource || token !== last.token) return { next: last.resource }
  return shorter.next === undefined ? {} : { next: shorter.next }
}

/** The leases of the resources that the identity may use. */
async function allowedOf(
  { authorize }: Service,
  identity: Identity,
  leases: readonly LeaseRecord[],
): Promise<LeaseRecord[]> {
  const allowed = await Promise.all(leases.map(({ resource }) => authorize(identity, 'lease', resource)))
  return leases.filter((_, n) => allowed[n])
}

/** Adds the waiters for these resources, if the request asks for them. */
async function withQueues(
  { store }: Service,
  request: RouteRequest<unknown>,
  body: object,
  resources: readonly string[],
): Promise<object> {
  const limit = request.query('waiting', waiting)
  if (limit === undefined) return body
  const queues = await store.waiting?.({ resources, limit })
  if (queues)
    return { ...body, queues: queues.map(({ count, first }) => ({ count, first: first.map(toWire) })) }
  throw new HttpError(400, 'no_queue', `the store of this server (${store.kind}) keeps no queue of waiters`)
}

export function listQuery(request: RouteRequest<unknown>): ListQuery {
  const [start, from] = [request.query('prefix', prefix), request.query('after', after)]
  return {
    limit: request.query('limit', limit) ?? DEFAULT_RESULTS,
    // Names are in NFC.
    ...(start !== undefined && { prefix: start.normalize('NFC') }),
    ...(from !== undefined && { after: from.normalize('NFC') }),
  }
}

function askOf(service: Service, { resource, body }: RouteRequest<LeaseAsk>): Ask {
  const { announcer, clientPlaces, log } = service
  const { wait, client, metadata, ...asked } = body
  const share = fromWire(asked).share ?? undefined
  const ask = { ...asked, share }
  checkSharing(service, resource, ask)
  if (metadata && isLonger(JSON.stringify(metadata), MAX_METADATA_BYTES))
    throw new HttpError(400, 'invalid_body', `metadata: expected at most ${MAX_METADATA_BYTES} bytes of JSON`)
  const push = (name: 'lease.wake' | 'lease.lost', more: { in_ms?: number }) => {
    if (client === undefined) return
    if (more.in_ms === 0) clientPlaces.called(client)
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

function checkSharing(
  { store }: Service,
  resource: string,
  ask: Pick<Ask, 'share' | 'atLeast' | 'lockDelay' | 'replace'>,
) {
  const { share, atLeast, lockDelay, replace } = ask
  const isOffered = store.supports.share || !(share || atLeast || lockDelay || replace === 'any')
  if (!isOffered)
    throw new HttpError(
      400,
      'share_unsupported',
      `share: the store of this server (${store.kind}) has no share, atLeast, lockDelay or replace 'any'`,
    )
  if (share && roomOf(resource) !== null)
    throw new HttpError(400, 'share_unsupported', 'share: the lock of a document is exclusive')
}
