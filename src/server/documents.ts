/**
 * Where contents are stored, behind a fence. Every grant of a room's lock raises the fence to its token before the
 * grant is answered. A save must carry exactly that token and come from that holder. So a new holder stops the old
 * one even before its first save, and a holder whose lock has expired may still save if nobody followed.
 *
 * A fence without a content protects nothing: a save without a fence is refused anyway. So it may be deleted some time
 * after its grant, and is raised again if its holder still has the lock and saves.
 */
import { expectOptions } from '../base/arguments.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import type { JsonValue } from '../base/records.ts'

/** With several nodes, all of them must use the same backend. */
export interface DocumentStore {
  /** Raises the fence to a grant. False if it was already there or higher: a fence is never lowered. */
  fence(room: string, grant: Grant): Promise<boolean>
  /** `null`: nothing was saved. Rejects with `UnreadableContent` if the stored content cannot be read. */
  read(room: string): Promise<SavedDocument | null>
  /**
   * Saves if the fence is at exactly this grant and, if `revision` is given, the content is still at this revision
   * (0: there is no content), in one atomic step.
   */
  save(room: string, grant: Grant, content: JsonValue, revision?: number): Promise<Saving>
  /** Deletes the content on the same conditions. `grant` is `null` for an administrator, who passes the fence. */
  remove(room: string, grant: Grant | null, revision?: number): Promise<Removal>
  /** Rejects if it cannot be read and written now. Changes nothing. Absent: a `read` tells enough. */
  check?(): Promise<void>
  /** Deletes fences of rooms without a content that are older than `KEEP_FENCE_MS`. Called every minute. */
  sweep?(): Promise<void>
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
  /** Rises with every save of the room, also after its content was deleted. */
  readonly revision: number
}

/** The stored content is damaged, or another version wrote it. It stays until a save replaces it. */
export class UnreadableContent extends LeaseError {
  override readonly name = 'UnreadableContent'

  constructor(room: string, details?: { readonly cause?: unknown }) {
    super('store-failed', `the stored content of ${JSON.stringify(room)} cannot be read`, details)
  }
}

/** A document as it was stored. Throws `UnreadableContent` if one of the values cannot be right. */
export function savedDocument(
  room: string,
  content: string,
  numbers: { readonly token: unknown; readonly savedAt: unknown; readonly revision: unknown },
): SavedDocument {
  try {
    const [token = 0, savedAt = 0, revision = 0] = [numbers.token, numbers.savedAt, numbers.revision].map(
      Number,
    )
    if (![token, savedAt, revision].every((number) => Number.isSafeInteger(number) && number > 0))
      throw new RangeError(`expected a token, a time and a revision, got ${JSON.stringify(numbers)}`)
    return { content: JSON.parse(content), token, savedAt, revision }
  } catch (cause) {
    throw new UnreadableContent(room, { cause })
  }
}

export type Saving =
  | { readonly saved: true; readonly savedAt: number; readonly revision: number }
  | ({ readonly saved: false } & SaveRefusal)

/** `removed`: there is no content any more. */
export type Removal = { readonly removed: true } | ({ readonly removed: false } & SaveRefusal)

export type SaveRefusal =
  /** The token at which the fence is; `null`: the room has no fence. */
  | { readonly fence: number | null }
  /** The content is at another revision than the expected one. 0: there is none. */
  | { readonly revision: number }

/** What became of a request to set the content of a room, or to remove it. */
export type Changed = { readonly savedAt: number } | SaveRefusal

/** Where the time of a save is its revision. */
export function savingOf(changed: Changed): Saving {
  if (!('savedAt' in changed)) return { saved: false, ...changed }
  return { saved: true, savedAt: changed.savedAt, revision: changed.savedAt }
}

/** A room without a content is as whoever removes it wants it. */
export function removalOf(changed: Changed, expected = 0): Removal {
  const isDone = 'savedAt' in changed || ('revision' in changed && changed.revision === expected)
  return isDone ? { removed: true } : { removed: false, ...changed }
}

/** As long as a lease store keeps the row of a free resource. */
export const KEEP_FENCE_MS = 3_600_000

/**
 * Lower tokens are not microseconds since 1970: those of etcd are revisions. They do not tell how old a fence is, so
 * such fences stay.
 */
export const FIRST_TIME_TOKEN = 10 ** 15

/** Contents in memory, which end with the process: for tests, or for one process with its locks in memory. */
export function memoryDocuments(options: { readonly clock?: Clock } = {}): DocumentStore {
  expectOptions(options, { clock: 1 })
  const { clock = systemClock } = options
  const fences = new Map<string, Grant>()
  const documents = new Map<string, SavedDocument>()
  const refusal = (room: string, grant: Grant | null, expected?: number): SaveRefusal | null => {
    const fence = fences.get(room)
    if (grant && (fence?.token !== grant.token || fence.holder !== grant.holder))
      return { fence: fence?.token ?? null }
    const revision = documents.get(room)?.revision ?? 0
    return expected === undefined || expected === revision ? null : { revision }
  }
  let lastRevision = 0
  return {
    async check() {},
    async fence(room, grant) {
      if ((fences.get(room)?.token ?? -1) >= grant.token) return false
      fences.set(room, grant)
      return true
    },
    async read(room) {
      return documents.get(room) ?? null
    },
    async save(room, grant, content, expected) {
      const refused = refusal(room, grant, expected)
      if (refused) return { saved: false, ...refused }
      const savedAt = clock.now()
      lastRevision = Math.max(lastRevision + 1, savedAt)
      documents.set(room, { content, token: grant.token, savedAt, revision: lastRevision })
      return { saved: true, savedAt, revision: lastRevision }
    },
    async remove(room, grant, expected) {
      const refused = refusal(room, grant, expected)
      if (refused) return { removed: false, ...refused }
      documents.delete(room)
      return { removed: true }
    },
    async sweep() {
      // A token is not lower than the time of its grant in microseconds.
      const oldest = (clock.now() - KEEP_FENCE_MS) * 1000
      for (const [room, { token }] of fences)
        if (token >= FIRST_TIME_TOKEN && token < oldest && !documents.has(room)) fences.delete(room)
    },
  }
}
