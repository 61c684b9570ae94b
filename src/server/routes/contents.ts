import type { JsonValue } from '../../base/records.ts'
import { documentContent, documentSave, documentSaved, errorBody, success } from '../../protocol/index.ts'
import { type SavedDocument, type SaveRefusal, UnreadableContent } from '../documents.ts'
import { HttpError } from '../http/http-error.ts'
import { type Route, type RouteRequest, route } from '../http/route.ts'
import type { LockClient } from '../locks.ts'
import type { Service } from '../service.ts'
import { lockNotFound, notYours, staleToken, unknownToken } from './lock-replies.ts'

const PATH = '/api/documents/{roomId}'

/** The content that a room's lock protects. Its `ETag` is its revision. */
export function contentRoutes(service: Service): Route[] {
  const { announcer, locks, authorize, onError } = service
  /** Whoever misses the event sees the change at the next read. */
  const announce = (announced: Promise<void>) =>
    void announced.catch((error: unknown) => onError('announce', error))
  return [
    route('GET', PATH, {
      id: 'readDocument',
      action: 'read',
      summary: 'The content as it was last saved. With `If-None-Match`, 304 if it is still the same.',
      answers: { 200: documentContent, 304: null, 409: errorBody },
      async handle({ room, header }) {
        const saved = await readSaved(service, room)
        const headers = { ETag: etagOf(saved?.revision ?? 0) }
        if (saved && revisionIn(header('if-none-match')) === saved.revision)
          return { status: 304, body: '', headers }
        const { content = null, token = null, savedAt, revision = 0 } = saved ?? {}
        const saved_at = savedAt === undefined ? null : new Date(savedAt).toISOString()
        return { body: { content, token, saved_at, revision }, headers }
      },
    }),
    route('PUT', PATH, {
      id: 'saveDocument',
      action: 'save',
      summary:
        'Save, as the holder of the latest lock, with its token. With `If-Match`, only over that revision.',
      body: documentSave,
      limit: 'maxDocument',
      answers: { 200: documentSaved, 403: errorBody, 409: errorBody, 412: errorBody },
      async handle(request) {
        const { room, body, header } = request
        const { content, token } = body
        const client = await request.client()
        const { savedAt, revision } = await save(service, room, client, content as JsonValue, {
          token,
          expected: expectedRevision(header('if-match')),
        })
        const saved_at = new Date(savedAt).toISOString()
        const { session_id } = client.person
        announce(
          announcer.publishToRoom('document.saved', { room_id: room, session_id, token, saved_at, revision }),
        )
        return { body: { success: true, token, saved_at, revision }, headers: { ETag: etagOf(revision) } }
      },
    }),
    route('DELETE', PATH, {
      id: 'deleteDocument',
      action: 'save',
      summary:
        'Delete the content, as the holder of the lock or as an administrator. It also succeeds if there is none.',
      answers: { 200: success, 403: errorBody, 404: errorBody, 409: errorBody, 412: errorBody },
      async handle(request) {
        const { room, identity, header } = request
        const grant = (await authorize(identity, 'admin', room)) ? null : await liveGrant(service, request)
        const removal = await service.documents.remove(room, grant, expectedRevision(header('if-match')))
        if (!removal.removed) throw refusalOf(removal, grant?.token ?? 0)
        announce(
          announcer.publishToRoom('document.deleted', { room_id: room, session_id: identity.publicId }),
        )
        locks.recordDeletion(room, identity.publicId)
        return { body: { success: true } }
      },
    }),
  ]
}

/** Content that cannot be read is not an outage: it stays so until somebody saves. */
async function readSaved({ documents, onError }: Service, room: string): Promise<SavedDocument | null> {
  try {
    return await documents.read(room)
  } catch (error) {
    if (!(error instanceof UnreadableContent)) throw error
    onError('content', error)
    throw new HttpError(
      409,
      'content_unreadable',
      'the stored content cannot be read: it is damaged, or another version wrote it; it stays until a save replaces it',
    )
  }
}

/** Saves for the holder of the latest grant only. */
async function save(
  { documents, locks }: Service,
  room: string,
  client: LockClient,
  content: JsonValue,
  { token, expected }: { readonly token: number; readonly expected: number | undefined },
): Promise<{ readonly savedAt: number; readonly revision: number }> {
  // A program that uses the store directly raises no fence. So the lease in the store is checked too.
  const lease = await locks.holder(room)
  if (lease !== null && lease.token > token) throw staleToken()
  const grant = { token, holder: locks.idOf(room, client) }
  let saving = await documents.save(room, grant, content, expected)
  const isSwept = !saving.saved && 'fence' in saving && saving.fence === null
  if (isSwept && lease?.token === token && locks.isHolder(room, client, lease)) {
    await documents.fence(room, grant)
    saving = await documents.save(room, grant, content, expected)
  }
  if (!saving.saved) throw refusalOf(saving, token)
  return saving
}

/** The grant of the client that holds the lock now. */
async function liveGrant({ locks, documents }: Service, request: RouteRequest<unknown>) {
  const { room } = request
  const client = await request.client()
  const lease = await locks.holder(room)
  if (!lease) throw lockNotFound()
  if (!locks.isHolder(room, client, lease)) throw notYours()
  const grant = { token: lease.token, holder: lease.id }
  // It may have been swept, because the room has no content.
  await documents.fence(room, grant)
  return grant
}

function refusalOf(refusal: SaveRefusal, token: number): HttpError {
  if ('revision' in refusal)
    return new HttpError(412, 'revision_mismatch', 'the content is at another revision than If-Match says', {
      details: { revision: refusal.revision },
      headers: { ETag: etagOf(refusal.revision) },
    })
  if (refusal.fence === token) return notYours()
  return refusal.fence !== null && refusal.fence > token ? staleToken() : unknownToken()
}

function etagOf(revision: number): string {
  return `"${revision}"`
}

/** A proxy that compresses may have made the tag weak. */
function revisionIn(tag: string | undefined): number | undefined {
  const [, revision] = /^(?:W\/)?"(\d{1,16})"$/.exec(tag ?? '') ?? []
  return revision === undefined ? undefined : Number(revision)
}

function expectedRevision(ifMatch: string | undefined): number | undefined {
  const revision = revisionIn(ifMatch)
  if (ifMatch === undefined || revision !== undefined) return revision
  throw new HttpError(
    400,
    'invalid_if_match',
    'If-Match: expected the one ETag of a read or a save, such as "1893499200000"',
  )
}
