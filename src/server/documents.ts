/**
 * Where contents live, behind a fence. Every grant of a room's lock raises the fence to its token before it is
 * answered; a save must carry exactly that token and come from that holder. So the old holder is stopped by a
 * successor that has not saved yet, and a lapsed holder whom nobody followed may still save.
 */
import { type Clock, type JsonValue, systemClock } from '../core/index.ts'

export interface DocumentStore {
  /** Raises the fence to a grant; true if it was lower. Never lowers it. */
  fence(room: string, grant: Grant): Promise<boolean>
  /** `null`: nothing was saved. Rejects with `UnreadableContent` for what is there and cannot be read. */
  read(room: string): Promise<SavedDocument | null>
  /** Saves if the fence is at this very grant, in one step. Otherwise says where it is; `null`: there is none. */
  save(room: string, grant: Grant, content: JsonValue): Promise<Saving>
}

export interface Grant {
  readonly token: number
  /** Names the holder; never shown to others. */
  readonly holder: string
}

export interface SavedDocument {
  readonly content: JsonValue
  /** Of the grant under which it was saved. */
  readonly token: number
  readonly savedAt: number
}

/** What is stored was damaged, or another version wrote it. It is kept until a save replaces it. */
export class UnreadableContent extends Error {
  override readonly name = 'UnreadableContent'

  constructor(room: string, details?: { readonly cause?: unknown }) {
    super(`the stored content of ${JSON.stringify(room)} cannot be read`, details)
  }
}

export type Saving =
  | { readonly saved: true; readonly savedAt: number }
  | { readonly saved: false; readonly fence: number | null }

/** For tests, and for rooms whose contents live elsewhere. */
export function memoryDocuments({ clock = systemClock }: { readonly clock?: Clock } = {}): DocumentStore {
  const fences = new Map<string, Grant>()
  const documents = new Map<string, SavedDocument>()
  return {
    async fence(room, grant) {
      if ((fences.get(room)?.token ?? -1) >= grant.token) return false
      fences.set(room, grant)
      return true
    },
    async read(room) {
      return documents.get(room) ?? null
    },
    async save(room, { token, holder }, content) {
      const fence = fences.get(room)
      if (fence?.token !== token || fence.holder !== holder)
        return { saved: false, fence: fence?.token ?? null }
      const savedAt = clock.now()
      documents.set(room, { content, token, savedAt })
      return { saved: true, savedAt }
    },
  }
}
