import type { JsonValue } from '../core/index.ts'
import type { Announcer } from './announcer.ts'
import type { DocumentStore } from './documents.ts'
import type { Locks, Party } from './locks.ts'
import type { OnError } from './service.ts'

export interface SavingOptions {
  readonly documents: DocumentStore
  readonly locks: Locks
  readonly announcer: Announcer
  readonly onError: OnError
}

export type Saved =
  | { readonly saved: true; readonly savedAt: number }
  /** A newer grant exists, or the caller had none with this token. */
  | { readonly saved: false; readonly why: 'stale' | 'not-yours' }

/** Saves for the holder of the latest grant only, and tells the room. */
export async function saveDocument(
  { documents, locks, announcer, onError }: SavingOptions,
  room: string,
  party: Party,
  { content, token }: { readonly content: JsonValue; readonly token: number },
): Promise<Saved> {
  // Somebody who works on the store itself raises no fence; the lease that it holds counts all the same.
  const holder = await locks.holder(room)
  if (holder !== null && holder.token > token) return { saved: false, why: 'stale' }
  const grant = { token, holder: locks.idOf(room, party) }
  const saving = await documents.save(room, grant, content)
  if (!saving.saved) return { saved: false, why: saving.fence === token ? 'not-yours' : 'stale' }
  const { savedAt } = saving
  announcer
    .tellRoom('document.saved', {
      room_id: room,
      session_id: party.person.session_id,
      token,
      saved_at: new Date(savedAt).toISOString(),
    })
    .catch((error: unknown) => onError('announce', error))
  return saving
}
