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
import { KEEP_FENCE_MS } from './options.ts'

/** With several nodes, all of them must use the same backend. */
export interface DocumentStore {
  /** Raises the fence to a grant. False if it was already there or higher: a fence is never lowered. */
  fence(room: string, grant: DocumentGrant): Promise<boolean>
  /** `null`: nothing was saved. Rejects with `UnreadableContent` if the stored content cannot be read. */
  read(room: string): Promise<StoredDocument | null>
  /**
   * Saves if the fence is at exactly this grant and the conditions are met, in one atomic step. A `sequence` equal to
   * the highest one is a repeated request: nothing is written, and the answer has the time and revision of the latest
   * save. If the content was removed since, it is refused. The highest `sequence` of a grant is also kept when a save
   * has none, and when the content is removed.
   */
  save(room: string, grant: DocumentGrant, content: JsonValue, conditions?: ChangeConditions): Promise<Saving>
  /**
   * Removes the content if the fence is at exactly this grant and the conditions are met. A `sequence` equal to the
   * highest one is refused, too. Where there is no content, only the `sequence` is kept. `grant` is `null` for an
   * administrator, who passes the fence and has no `sequence`.
   */
  remove(room: string, grant: DocumentGrant | null, conditions?: ChangeConditions): Promise<Removal>
  /** Rejects if it cannot be read and written now. Leaves nothing behind. Absent: a `read` tells enough. */
  check?(): Promise<void>
  /**
   * Deletes fences of rooms without a content if the fence and the removal are older than `KEEP_FENCE_MS`. Called every
   * minute.
   */
  sweep?(): Promise<void>
}

export interface DocumentGrant {
  readonly token: number
  /** Identifies the holder. Never shown to others. */
  readonly holder: string
}

/** What must be true for a save or a removal to be carried out. */
export interface ChangeConditions {
  /** The content is still at this revision. 0: there is no content. */
  readonly revision?: number | undefined
  /** No save or removal of the same grant had a higher sequence. */
  readonly sequence?: number | undefined
}

export interface StoredDocument {
  readonly content: JsonValue
  /** The token of the grant under which it was saved. */
  readonly token: number
  readonly savedAt: number
  /** Rises with every save of the room, also after its content was deleted. */
  readonly revision: number
}

/** The stored content is damaged, or another version wrote it. It stays until a save or a deletion replaces it. */
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
): StoredDocument {
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
  /** A newer save or removal of the same grant was carried out: the one with this sequence. */
  | { readonly sequence: number }

/** What became of a request to set the content of a room, or to remove it. */
export type Changed = { readonly savedAt: number } | SaveRefusal

/** Where the time of a save is its revision. */
export function savingOf(changed: Changed): Saving {
  if (!('savedAt' in changed)) return { saved: false, ...changed }
  return { saved: true, savedAt: changed.savedAt, revision: changed.savedAt }
}

/** A save (`content`) or a removal (`null`) with its conditions. `grant` is `null` for an administrator. */
export interface RequestedChange extends ChangeConditions {
  readonly grant: DocumentGrant | null
  /** As JSON. */
  readonly content: string | null
}

/** The highest sequence of a grant; `null`: it has none. */
export interface Sequenced {
  readonly highest: number | null
  readonly hasContent: boolean
}

/** What a save gets whose `sequence` is not above the highest one. `null`: the sequence does not decide. */
export function lateSave(
  sequence: number | undefined,
  { highest, hasContent }: Sequenced,
): 'repeated' | { readonly sequence: number } | null {
  if (sequence === undefined || highest === null || sequence > highest) return null
  return hasContent && sequence === highest ? 'repeated' : { sequence: highest }
}

/** The same for a removal. */
export function lateRemoval(
  sequence: number | undefined,
  { highest, hasContent }: Sequenced,
): { readonly sequence: number } | null {
  if (sequence === undefined || highest === null || sequence > highest || !hasContent) return null
  return { sequence: highest }
}

/** Why the row of a room, whose fence is right, was not changed. */
export function unchangedRow(
  kind: 'save' | 'remove',
  sequence: number | undefined,
  row: { readonly sequence?: unknown; readonly saved_at?: unknown; readonly revision?: unknown } = {},
): Changed {
  const revision = Number(row.revision ?? 0)
  const stored = { highest: row.sequence == null ? null : Number(row.sequence), hasContent: revision !== 0 }
  const late = kind === 'save' ? lateSave(sequence, stored) : lateRemoval(sequence, stored)
  if (late === 'repeated') return { savedAt: Number(row.saved_at) }
  return late ?? { revision }
}

/** Removing content that is not there succeeds. */
export function removalOf(changed: Changed, expected = 0): Removal {
  const isDone = 'savedAt' in changed || ('revision' in changed && changed.revision === expected)
  return isDone ? { removed: true } : { removed: false, ...changed }
}

/**
 * Lower tokens are not microseconds since 1970: those of etcd are revisions. They do not tell how old a fence is, so
 * such fences stay.
 */
export const FIRST_TIME_TOKEN = 10 ** 15

/** The stores whose contents end with the process. */
export const inMemory = new WeakSet<DocumentStore>()

/**
 * Contents in memory, which end with the process: for tests, or for one process with its locks in memory.
 *
 * @example
 * const service = await createLockServer({ store: memoryStore(), documents: memoryDocuments() })
 */
export function memoryDocuments(options: { readonly clock?: Clock | undefined } = {}): DocumentStore {
  expectOptions(options, { clock: 1 })
  const { clock = systemClock } = options
  const fences = new Map<string, DocumentGrant>()
  const documents = new Map<string, StoredDocument>()
  const refusal = (room: string, grant: DocumentGrant | null, expected?: number): SaveRefusal | null => {
    const fence = fences.get(room)
    if (grant && (fence?.token !== grant.token || fence.holder !== grant.holder))
      return { fence: fence?.token ?? null }
    const revision = documents.get(room)?.revision ?? 0
    return expected === undefined || expected === revision ? null : { revision }
  }
  let lastRevision = 0
  /** By room: the highest sequence and its grant. */
  const sequences = new Map<string, { readonly token: number; readonly sequence: number }>()
  /** By room: when its content was removed. */
  const removals = new Map<string, number>()
  const sequencedOf = (room: string, grant: DocumentGrant | null): Sequenced => {
    const stored = sequences.get(room)
    const highest = stored && stored.token === grant?.token ? stored.sequence : null
    return { highest, hasContent: documents.has(room) }
  }
  const raise = (room: string, grant: DocumentGrant, sequence: number) => {
    const { highest } = sequencedOf(room, grant)
    sequences.set(room, { token: grant.token, sequence: Math.max(highest ?? 0, sequence) })
  }
  const store: DocumentStore = {
    async check() {},
    async fence(room, grant) {
      if ((fences.get(room)?.token ?? -1) >= grant.token) return false
      fences.set(room, grant)
      return true
    },
    async read(room) {
      return documents.get(room) ?? null
    },
    async save(room, grant, content, { revision: expected, sequence } = {}) {
      const fenced = refusal(room, grant)
      if (fenced) return { saved: false, ...fenced }
      const late = lateSave(sequence, sequencedOf(room, grant))
      const stored = documents.get(room)
      if (late === 'repeated' && stored)
        return { saved: true, savedAt: stored.savedAt, revision: stored.revision }
      if (late && late !== 'repeated') return { saved: false, ...late }
      const refused = refusal(room, grant, expected)
      if (refused) return { saved: false, ...refused }
      const savedAt = clock.now()
      lastRevision = Math.max(lastRevision + 1, savedAt)
      const saved = { savedAt, revision: lastRevision }
      documents.set(room, { content, token: grant.token, ...saved })
      if (sequence !== undefined) raise(room, grant, sequence)
      return { saved: true, ...saved }
    },
    async remove(room, grant, { revision: expected, sequence } = {}) {
      const fenced = refusal(room, grant)
      if (fenced) return { removed: false, ...fenced }
      const refused = lateRemoval(sequence, sequencedOf(room, grant)) ?? refusal(room, grant, expected)
      if (refused) return { removed: false, ...refused }
      documents.delete(room)
      if (fences.has(room)) removals.set(room, clock.now())
      if (grant && sequence !== undefined) raise(room, grant, sequence)
      return { removed: true }
    },
    async sweep() {
      // A token is not lower than the time of its grant in microseconds.
      const oldest = clock.now() - KEEP_FENCE_MS
      for (const [room, { token }] of fences) {
        const isOld = token < oldest * 1000 && (removals.get(room) ?? 0) < oldest
        if (token >= FIRST_TIME_TOKEN && isOld && !documents.has(room))
          for (const kept of [fences, sequences, removals]) kept.delete(room)
      }
    },
  }
  inMemory.add(store)
  return store
}
