import * as v from 'valibot'
import type { JsonValue } from '../../base/records.ts'
import {
  CLIENT_HEADER,
  documentContent,
  documentSave,
  documentSaved,
  errorBody,
  revisionMismatch,
  staleSave,
  success,
} from '../../protocol/index.ts'
import {
  type ChangeConditions,
  type SaveRefusal,
  type StoredDocument,
  UnreadableContent,
} from '../documents.ts'
import { type Condition, conditionOf, etagOf, isKnown } from '../http/conditions.ts'
import { HttpError } from '../http/http-error.ts'
import { integer } from '../http/query.ts'
import { type Route, type RouteRequest, route } from '../http/route.ts'
import type { LockClient } from '../locks.ts'
import { MAX_CONDITION_TRIES } from '../options.ts'
import type { Service } from '../service.ts'
import { lockNotFound, notYours, staleToken, unknownToken } from './lock-replies.ts'

const PATH = '/api/documents/{roomId}'
const token = integer(0, Number.MAX_SAFE_INTEGER, 'Delete only as the holder of the lock with this token.')
const sequence = integer(
  0,
  Number.MAX_SAFE_INTEGER,
  'Delete only if no save or deletion of this lock with this sequence or a higher one was carried out. Needs `token`.',
)

/** The content that a room's lock protects. Its `ETag` is its revision. */
export function contentRoutes(service: Service): Route[] {
  return [readRoute(service), saveRoute(service), deleteRoute(service)]
}

function readRoute(service: Service): Route {
  return route('GET', PATH, {
    id: 'readDocument',
    action: 'read',
    summary: 'The content as it was last saved. With `If-None-Match`, 304 if it is still the same.',
    headers: ['If-None-Match'],
    etag: [200, 304],
    answers: { 200: documentContent, 304: null, 409: errorBody },
    async handle({ room, header }) {
      const saved = await readSaved(service, room)
      const headers = { ETag: etagOf(saved?.revision ?? 0) }
      if (saved && isKnown(header, saved.revision)) return { status: 304, body: '', headers }
      const { content = null, token = null, savedAt, revision = 0 } = saved ?? {}
      const saved_at = savedAt === undefined ? null : new Date(savedAt).toISOString()
      return { body: { content, token, saved_at, revision }, headers }
    },
  })
}

function saveRoute(service: Service): Route {
  return route('PUT', PATH, {
    id: 'saveDocument',
    action: 'save',
    summary:
      'Save, as the holder of the latest lock, with its token. With `If-Match`, only over that revision. With `If-None-Match: *`, only if nothing was saved. With `sequence`, only if no save of this lock with a higher one is stored.',
    headers: [CLIENT_HEADER, 'If-Match', 'If-None-Match'],
    etag: [200, 412],
    body: documentSave,
    limit: 'maxDocument',
    answers: {
      200: documentSaved,
      403: errorBody,
      409: v.union([staleSave, errorBody]),
      412: revisionMismatch,
    },
    async handle(request) {
      const { room, body, header } = request
      const { content, token, sequence } = body
      const client = await request.client()
      const { savedAt, revision } = await underCondition(service, room, conditionOf(header), (revision) =>
        save(service, room, { client, content: content as JsonValue, token, revision, sequence }),
      )
      const saved_at = new Date(savedAt).toISOString()
      const { session_id } = client.person
      announce(
        service,
        service.announcer.publishToRoom('document.saved', {
          room_id: room,
          session_id,
          token,
          saved_at,
          revision,
        }),
      )
      return { body: { success: true, token, saved_at, revision }, headers: { ETag: etagOf(revision) } }
    },
  })
}

function deleteRoute(service: Service): Route {
  return route('DELETE', PATH, {
    id: 'deleteDocument',
    action: 'save',
    summary:
      'Delete the content, as the holder of the lock or as an administrator. It also succeeds if there is none.',
    query: { token, sequence },
    headers: [CLIENT_HEADER, 'If-Match', 'If-None-Match'],
    etag: [412],
    answers: {
      200: success,
      403: errorBody,
      404: errorBody,
      409: v.union([staleSave, errorBody]),
      412: revisionMismatch,
    },
    async handle(request) {
      const { room, identity, header } = request
      const onlyToken = request.query('token', token)
      const order = request.query('sequence', sequence)
      if (order !== undefined && onlyToken === undefined)
        throw new HttpError(400, 'invalid_query', 'sequence: expected token, too')
      const isAdmin = onlyToken === undefined && (await service.authorize(identity, 'admin', room))
      const grant = isAdmin ? null : await liveGrant(service, request, onlyToken)
      await underCondition(service, room, conditionOf(header), async (revision) => {
        const removal = await service.documents.remove(room, grant, { revision, sequence: order })
        if (!removal.removed) throw refusalOf(removal, grant?.token ?? 0)
      })
      announce(
        service,
        service.announcer.publishToRoom('document.deleted', { room_id: room, session_id: identity.publicId }),
      )
      service.locks.recordDeletion(room, identity.publicId)
      return { body: { success: true } }
    },
  })
}

/** A page that misses the event sees the change at its next read. */
function announce({ onError }: Service, announced: Promise<void>): void {
  announced.catch((error: unknown) => onError('announce', error))
}

/** Content that cannot be read is not an outage: it stays so until somebody saves. */
async function readSaved({ documents, onError }: Service, room: string): Promise<StoredDocument | null> {
  try {
    return await documents.read(room)
  } catch (error) {
    if (!(error instanceof UnreadableContent)) throw error
    onError('content', error)
    throw new HttpError(
      409,
      'content_unreadable',
      'the stored content cannot be read: it is damaged, or another version wrote it; it stays until a save or a deletion replaces it',
    )
  }
}

interface SaveRequest extends ChangeConditions {
  readonly client: LockClient
  readonly content: JsonValue
  readonly token: number
}

/** Saves for the holder of the latest grant only. */
async function save(
  { documents, locks }: Service,
  room: string,
  { client, content, token, ...conditions }: SaveRequest,
): Promise<{ readonly savedAt: number; readonly revision: number }> {
  // A program that uses the store directly raises no fence. So the lease in the store is checked too.
  const lease = await locks.holder(room)
  if (lease !== null && lease.token > token) throw staleToken()
  const grant = { token, holder: locks.idOf(room, client) }
  let saving = await documents.save(room, grant, content, conditions)
  const isSwept = !saving.saved && 'fence' in saving && saving.fence === null
  if (isSwept && lease?.token === token && locks.isHolder(room, client, lease)) {
    await documents.fence(room, grant)
    saving = await documents.save(room, grant, content, conditions)
  }
  if (!saving.saved) throw refusalOf(saving, token)
  return saving
}

/** The grant of the client that holds the lock now. With a token, only that grant. */
async function liveGrant(
  { locks, documents }: Service,
  request: RouteRequest<unknown>,
  onlyToken: number | undefined,
) {
  const { room } = request
  const client = await request.client()
  const lease = await locks.holder(room)
  if (!lease) throw lockNotFound()
  if (!locks.isHolder(room, client, lease)) throw notYours()
  if (onlyToken !== undefined && onlyToken !== lease.token)
    throw onlyToken < lease.token ? staleToken() : unknownToken()
  const grant = { token: lease.token, holder: lease.id }
  // It may have been swept, because the room has no content.
  await documents.fence(room, grant)
  return grant
}

/** Changes the content, if the condition allows its revision. */
async function underCondition<T>(
  service: Service,
  room: string,
  condition: Condition | undefined,
  change: (expected: number | undefined) => Promise<T>,
): Promise<T> {
  if (typeof condition !== 'function') return change(condition)
  for (let tries = 1; ; tries++) {
    const revision = (await readSaved(service, room))?.revision ?? 0
    if (!condition(revision)) throw mismatch(revision)
    try {
      return await change(revision)
    } catch (error) {
      const isChanged = error instanceof HttpError && error.code === 'revision_mismatch'
      if (!isChanged || tries === MAX_CONDITION_TRIES) throw error
    }
  }
}

function mismatch(revision: number): HttpError {
  return new HttpError(
    412,
    'revision_mismatch',
    'the content is at another revision than the request expects',
    {
      details: { revision },
      headers: { ETag: etagOf(revision) },
    },
  )
}

function refusalOf(refusal: SaveRefusal, token: number): HttpError {
  if ('revision' in refusal) return mismatch(refusal.revision)
  if ('sequence' in refusal)
    return new HttpError(409, 'stale_save', 'a newer save or deletion of the same lock was carried out', {
      details: { sequence: refusal.sequence },
    })
  if (refusal.fence === token) return notYours()
  return refusal.fence !== null && refusal.fence > token ? staleToken() : unknownToken()
}
