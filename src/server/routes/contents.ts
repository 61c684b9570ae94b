import type { JsonValue } from '../../base/records.ts'
import { documentContent, documentSave, documentSaved, errorBody } from '../../protocol/index.ts'
import { type SavedDocument, UnreadableContent } from '../documents.ts'
import { HttpError } from '../http/http-error.ts'
import { type Route, route } from '../http/route.ts'
import type { LockClient } from '../locks.ts'
import type { Service } from '../service.ts'
import { notYours, staleToken } from './lock-replies.ts'

const PATH = '/api/documents/{roomId}'

/** The content that a room's lock protects. */
export function contentRoutes(service: Service): Route[] {
  return [
    route('GET', PATH, {
      id: 'readDocument',
      action: 'read',
      summary: 'The content as it was last saved.',
      answers: { 200: documentContent, 409: errorBody },
      async handle({ room }) {
        const saved = await readSaved(service, room)
        if (!saved) return { body: { content: null, token: null, saved_at: null } }
        const { content, token, savedAt } = saved
        return { body: { content, token, saved_at: new Date(savedAt).toISOString() } }
      },
    }),
    route('PUT', PATH, {
      id: 'saveDocument',
      action: 'save',
      summary: 'Save, as the holder of the latest lock, with its token.',
      body: documentSave,
      limit: 'maxDocument',
      answers: { 200: documentSaved, 403: errorBody, 409: errorBody },
      async handle(request) {
        const { content, token } = request.body
        const client = await request.client()
        const saved_at = await save(service, request.room, client, content as JsonValue, token)
        return { body: { success: true, token, saved_at } }
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

/** Saves for the holder of the latest grant only, and tells the room. Returns the time of the save. */
async function save(
  { documents, locks, announcer, onError }: Service,
  room: string,
  client: LockClient,
  content: JsonValue,
  token: number,
): Promise<string> {
  // A program that uses the store directly raises no fence. So the lease in the store is checked too.
  const holder = await locks.holder(room)
  if (holder !== null && holder.token > token) throw staleToken()
  const saving = await documents.save(room, { token, holder: locks.idOf(room, client) }, content)
  if (!saving.saved) throw saving.fence === token ? notYours() : staleToken()
  const saved_at = new Date(saving.savedAt).toISOString()
  announcer
    .publishToRoom('document.saved', { room_id: room, session_id: client.person.session_id, token, saved_at })
    .catch((error: unknown) => onError('announce', error))
  return saved_at
}
