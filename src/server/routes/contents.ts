import type { JsonValue } from '../../core/index.ts'
import { documentContent, documentSave, documentSaved, errorBody } from '../../protocol/index.ts'
import { type SavedDocument, UnreadableContent } from '../documents.ts'
import { HttpError } from '../http/http-error.ts'
import { type Route, route } from '../http/route.ts'
import { saveDocument } from '../saving.ts'
import type { Service } from '../service.ts'
import { notYours, staleToken } from './lock-replies.ts'

const PATH = '/api/documents/{roomId}'

/** The content that a room's lock protects. */
export function contentRoutes(service: Service): Route[] {
  return [
    route({
      ...{ method: 'GET', path: PATH, id: 'readDocument', action: 'read' },
      summary: 'The content as it was last saved.',
      answers: { 200: documentContent, 409: errorBody },
      async handle({ room }) {
        const saved = await readSaved(service, room)
        if (!saved) return { body: { content: null, token: null, saved_at: null } }
        const { content, token, savedAt } = saved
        return { body: { content, token, saved_at: new Date(savedAt).toISOString() } }
      },
    }),
    route({
      ...{ method: 'PUT', path: PATH, id: 'saveDocument', action: 'save' },
      summary: 'Save, as the holder of the latest lock, with its token.',
      ...{ body: documentSave, limit: 'maxDocument' },
      answers: { 200: documentSaved, 403: errorBody, 409: errorBody },
      async handle(call) {
        const { content, token } = call.body
        const party = await call.party()
        const saved = await saveDocument(service, call.room, party, { content: content as JsonValue, token })
        if (!saved.saved) throw saved.why === 'stale' ? staleToken() : notYours()
        return { body: { success: true, token, saved_at: new Date(saved.savedAt).toISOString() } }
      },
    }),
  ]
}

/** No failure that passes: it is so until somebody saves. */
async function readSaved({ documents, onError }: Service, room: string): Promise<SavedDocument | null> {
  try {
    return await documents.read(room)
  } catch (error) {
    if (!(error instanceof UnreadableContent)) throw error
    onError('content', error)
    throw new HttpError(
      409,
      'content_unreadable',
      'the stored content cannot be read: it was damaged, or another version wrote it; it is kept until a save replaces it',
    )
  }
}
