/**
 * Where contents are stored, behind a fence. Every grant of a room's lock raises the fence to its token before the
 * grant is answered. A save must carry exactly that token and come from that holder. So a new holder stops the old
 * one even before its first save, and a holder whose lock has expired may still save if nobody followed.
 */
import { expectOptions } from '../base/arguments.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import type { JsonValue } from '../base/records.ts'

export interface DocumentStore {
  /** Raises the fence to a grant. False if it was already there or higher: a fence is never lowered. */
  fence(room: string, grant: Grant): Promise<boolean>
  /** `null`: nothing was saved. Rejects with `UnreadableContent` if the stored content cannot be read. */
  read(room: string): Promise<SavedDocument | null>
  /** Saves if the fence is at exactly this grant, in one atomic step. */
  save(room: string, grant: Grant, content: JsonValue): Promise<Saving>
}

export interface Grant {
  readonly token: number
  /** Identifies the holder. Never shown to others. */
  readonly holder: string
}

export interface SavedDocument {
  readonly content: JsonValue
  /** The token of the grant under which it was saved. */
  readonly token: number
  readonly savedAt: number
}

/** The stored content is damaged, or another version wrote it. It stays until a save replaces it. */
export class UnreadableContent extends LeaseError {
  override readonly name = 'UnreadableContent'

  constructor(room: string, details?: { readonly cause?: unknown }) {
    super('store-failed', `the stored content of ${JSON.stringify(room)} cannot be read`, details)
  }
}

export type Saving =
  | { readonly saved: true; readonly savedAt: number }
  /** `fence`: the token at which it is; `null`: the room has no fence. */
  | { readonly saved: false; readonly fence: number | null }

/** Contents in memory, which end with the process: for tests, or if contents are stored elsewhere. */
export function memoryDocuments(options: { readonly clock?: Clock } = {}): DocumentStore {
  expectOptions(options, { clock: 1 })
  const { clock = systemClock } = options
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
