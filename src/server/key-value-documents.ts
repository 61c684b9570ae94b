/**
 * Contents on any backend of keys and texts. A room's key has its fence and the name of its content, whose parts are
 * under keys of their own, because every grant writes the room's key. A save uploads the content under a new name, and
 * then compares and sets the room's key.
 *
 * A room's record that cannot be read stays in the record that a later grant writes, and its parts stay too, until a
 * save or a deletion replaces them. Until then the room can be locked, and its content is unreadable.
 */
import * as v from 'valibot'
import { type Clock, systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { randomId } from '../base/random-id.ts'
import type { JsonValue } from '../base/records.ts'
import { parseJson } from '../protocol/index.ts'
import type { Running } from '../stores/local/calls.ts'
import { encodeName } from '../stores/nats/names.ts'
import {
  type ChangeConditions,
  type DocumentGrant,
  type DocumentStore,
  lateRemoval,
  lateSave,
  type Removal,
  type SaveRefusal,
  type Saving,
  type Sequenced,
  type StoredDocument,
  savedDocument,
  UnreadableContent,
} from './documents.ts'
import { callsOf, type KeyValues, type StoredText } from './key-values.ts'
import { DOCUMENT_PART_LENGTH, KEEP_FENCE_MS, MAX_KEY_TRIES } from './options.ts'

/** The parts of a content are at `part.<room>.<id>.<number>`. */
const savedParts = v.object({
  id: v.string(),
  parts: v.pipe(v.number(), v.integer(), v.minValue(1)),
  token: v.number(),
  savedAt: v.number(),
})
/** The highest sequence of the grant with this token. */
const sequenced = v.object({ token: v.number(), sequence: v.number() })
/**
 * `revision` is that of the last save, also after its content was deleted. `unreadable`: the record that was found in
 * its place, if nothing was saved since. Records of earlier versions have neither it nor `sequenced`, and those versions
 * leave both as they are.
 */
const roomRecord = v.object({
  fence: v.number(),
  holder: v.string(),
  saved: v.nullable(savedParts),
  revision: v.number(),
  sequenced: v.exactOptional(sequenced),
  unreadable: v.exactOptional(v.string()),
})
type SavedParts = v.InferOutput<typeof savedParts>
type RoomRecord = v.InferOutput<typeof roomRecord>

interface Found {
  readonly record: RoomRecord
  /** Of the key, to compare and set. */
  readonly revision: number
}

type Decision =
  | { readonly refused: SaveRefusal }
  | { readonly record: RoomRecord }
  /** The record is as it should be. */
  | 'done'
interface Conditions<Grant = DocumentGrant | null> extends ChangeConditions {
  readonly grant: Grant
}
interface Replacement {
  readonly replaced: Found | null
}

/** Of a record that cannot be read. Every token is higher. */
const NO_FENCE = { fence: 0, holder: '' }

export function keyValueDocuments(values: KeyValues, clock: Clock = systemClock): DocumentStore {
  const calls = callsOf(values)
  const rooms = new Rooms(values, clock)
  let nextSweepAt = -Infinity
  /** What the last sweep found unused, with its revision. */
  let unused: ReadonlyMap<string, number> = new Map()

  return {
    check: () =>
      calls.run(async () => {
        await values.put('check', '')
      }),
    fence: (room, grant) => calls.run((stop) => rooms.fence(room, grant, stop)),
    read: (room) => calls.run(() => rooms.read(room)),
    save: (room, grant, content, conditions = {}) =>
      calls.run((stop) => rooms.save(room, content, { ...conditions, grant }, stop)),
    remove: (room, grant, conditions = {}) =>
      calls.run((stop) => rooms.remove(room, { ...conditions, grant }, stop)),
    async sweep() {
      // It lists all keys, so it runs once in an hour.
      if (clock.monotonic() < nextSweepAt) return
      try {
        unused = await calls.scan((stop) => sweepUnused(values, unused, stop.signal))
      } finally {
        nextSweepAt = clock.monotonic() + KEEP_FENCE_MS
      }
    },
  }
}

class Rooms {
  readonly #values: KeyValues
  readonly #clock: Clock

  constructor(values: KeyValues, clock: Clock) {
    this.#values = values
    this.#clock = clock
  }

  async fence(room: string, { token, holder }: DocumentGrant, stop: Running): Promise<boolean> {
    const changed = await this.#change(room, stop, (record) => {
      if (record && record.fence >= token) return 'done'
      return { record: { saved: null, revision: 0, ...record, fence: token, holder } }
    })
    return changed !== 'done'
  }

  async read(room: string): Promise<StoredDocument | null> {
    for (let last = 0; ; ) {
      const found = await this.#find(room)
      if (!found || !hasContent(found.record)) return null
      const { saved, revision } = found.record
      if (!saved) throw new UnreadableContent(room)
      const parts = await Promise.all(partKeys(room, saved).map((key) => this.#values.get(key)))
      if (parts.every((part) => part !== null))
        return savedDocument(room, parts.map(({ text }) => text).join(''), { ...saved, revision })
      // Another save has replaced it meanwhile, unless the record is still the same.
      if (found.revision === last) throw new UnreadableContent(room)
      last = found.revision
    }
  }

  async save(
    room: string,
    content: JsonValue,
    conditions: Conditions<DocumentGrant>,
    stop: Running,
  ): Promise<Saving> {
    const { grant, sequence } = conditions
    const early = answerWithoutSaving((await this.#find(room))?.record ?? null, conditions)
    if (early) return early
    const texts = textsOf(JSON.stringify(content))
    const savedAt = this.#clock.now()
    const saved: SavedParts = { id: randomId(), parts: texts.length, token: grant.token, savedAt }
    const uploaded = await this.#upload(room, saved, texts, stop)
    let revision = uploaded
    let answer: Saving | null = null
    const changed = await this.#change(room, stop, (record) => {
      // An earlier try wrote it, and its answer was lost.
      if (record?.saved?.id === saved.id) return 'done'
      answer = answerWithoutSaving(record, conditions)
      if (answer || !record) return 'done'
      // If this process stood still for so long, a sweep may have deleted the parts.
      if (Math.abs(this.#clock.now() - savedAt) > KEEP_FENCE_MS / 2)
        throw new LeaseError('store-unavailable', `${this.#values.backend}: the save took too long`)
      // Of two saves the later one may have uploaded first.
      revision = Math.max(uploaded, record.revision + 1)
      return { record: { ...readable(record), ...raised(record, grant, sequence), saved, revision } }
    })
    if (answer) {
      await this.#forgetParts(room, saved, uploaded)
      return answer
    }
    if (changed !== 'done' && 'replaced' in changed) await this.#forgetReplaced(room, changed)
    return { saved: true, savedAt, revision }
  }

  async remove(room: string, conditions: Conditions, stop: Running): Promise<Removal> {
    const { grant, revision, sequence } = conditions
    const changed = await this.#change(room, stop, (record) => {
      const refused =
        refusalOf(record, grant, undefined) ??
        lateRemoval(sequence, sequencedOf(record, grant)) ??
        refusalOf(record, grant, revision)
      if (refused) return { refused }
      if (!record || (!hasContent(record) && sequence === undefined)) return 'done'
      return { record: { ...readable(record), ...raised(record, grant, sequence), saved: null } }
    })
    if (changed === 'done') return { removed: true }
    if ('refused' in changed) return { removed: false, ...changed.refused }
    await this.#forgetReplaced(room, changed)
    return { removed: true }
  }

  async #find(room: string): Promise<Found | null> {
    const stored = await this.#values.get(roomKey(room))
    if (!stored) return null
    return { record: recordIn(stored.text) ?? unreadableRecord(stored), revision: stored.revision }
  }

  async #change(
    room: string,
    stop: Running,
    decide: (record: RoomRecord | null) => Decision,
  ): Promise<Replacement | { readonly refused: SaveRefusal } | 'done'> {
    for (let tries = 0; tries < MAX_KEY_TRIES; tries++) {
      const found = await this.#find(room)
      const decision = decide(found?.record ?? null)
      if (decision === 'done' || 'refused' in decision) return decision
      stop.throwIfAborted()
      const text = JSON.stringify(decision.record)
      if (await this.#values.compareAndPut(roomKey(room), text, found?.revision ?? null))
        return { replaced: found }
    }
    throw new LeaseError(
      'store-unavailable',
      `${this.#values.backend}: the record of ${JSON.stringify(room)} keeps changing`,
    )
  }

  /** Resolves with the revision of the last part. */
  async #upload(room: string, saved: SavedParts, texts: readonly string[], stop: Running): Promise<number> {
    let uploaded = 0
    for (const [part, key] of partKeys(room, saved).entries()) {
      stop.throwIfAborted()
      uploaded = await this.#values.put(key, texts[part] ?? '')
    }
    return uploaded
  }

  /** If it fails, a later sweep deletes them. */
  async #forgetParts(room: string, saved: SavedParts, until: number): Promise<void> {
    for (const key of partKeys(room, saved)) await this.#values.remove(key, until).catch(() => {})
  }

  async #forgetReplaced(room: string, { replaced }: Replacement): Promise<void> {
    if (replaced?.record.saved) await this.#forgetParts(room, replaced.record.saved, replaced.revision)
  }
}

/** `null`: damaged, or written by another version. */
function recordIn(text: string): RoomRecord | null {
  const parsed = parseJson(text)
  return v.is(roomRecord, parsed) ? parsed : null
}

/** A fence that can be read is kept: the holder may still save. Its revision is above that of the content. */
function unreadableRecord({ text, revision }: StoredText): RoomRecord {
  const { fence, holder } = Object(parseJson(text))
  const isFence = v.is(roomRecord.entries.fence, fence) && v.is(roomRecord.entries.holder, holder)
  return { ...(isFence ? { fence, holder } : NO_FENCE), saved: null, revision, unreadable: text }
}

/** Also if the content cannot be read. */
function hasContent({ saved, unreadable }: RoomRecord): boolean {
  return saved !== null || unreadable !== undefined
}

function readable({ unreadable: _, ...record }: RoomRecord): RoomRecord {
  return record
}

function refusalOf(
  record: RoomRecord | null,
  grant: DocumentGrant | null,
  expected: number | undefined,
): SaveRefusal | null {
  if (grant && (record?.fence !== grant.token || record.holder !== grant.holder))
    return { fence: record?.fence || null }
  const revision = record && hasContent(record) ? record.revision : 0
  return expected === undefined || expected === revision ? null : { revision }
}

/** For a save that is refused, or was carried out before. `null`: it may be carried out. */
function answerWithoutSaving(
  record: RoomRecord | null,
  { grant, revision, sequence }: Conditions<DocumentGrant>,
): Saving | null {
  const fenced = refusalOf(record, grant, undefined)
  if (fenced) return { saved: false, ...fenced }
  const late = lateSave(sequence, sequencedOf(record, grant))
  if (late === 'repeated' && record?.saved)
    return { saved: true, savedAt: record.saved.savedAt, revision: record.revision }
  if (late && late !== 'repeated') return { saved: false, ...late }
  const refused = refusalOf(record, grant, revision)
  return refused && { saved: false, ...refused }
}

function sequencedOf(record: RoomRecord | null, grant: DocumentGrant | null): Sequenced {
  const { sequenced } = record ?? {}
  const isOfGrant = sequenced !== undefined && sequenced.token === grant?.token
  return { highest: isOfGrant ? sequenced.sequence : null, hasContent: record !== null && hasContent(record) }
}

function raised(
  record: RoomRecord,
  grant: DocumentGrant | null,
  sequence: number | undefined,
): Pick<RoomRecord, 'sequenced'> {
  if (!grant || sequence === undefined) return {}
  const { highest } = sequencedOf(record, grant)
  return { sequenced: { token: grant.token, sequence: Math.max(highest ?? 0, sequence) } }
}

/** Never cuts a character in two. */
function textsOf(content: string): string[] {
  return content.match(new RegExp(`.{1,${DOCUMENT_PART_LENGTH}}`, 'gsu')) ?? []
}

function roomKey(room: string): string {
  return `room.${encodeName(room)}`
}

function partKeys(room: string, { id, parts }: SavedParts): string[] {
  return Array.from({ length: parts }, (_, part) => `part.${encodeName(room)}.${id}.${part}`)
}

/**
 * Deletes fences without a content and parts of interrupted saves that the last sweep found too. Which parts belong to
 * a record that cannot be read is not known, so all parts of its room stay. Resolves with the
 * others. Their age is counted here, because etcd has no clock.
 */
async function sweepUnused(
  values: KeyValues,
  before: ReadonlyMap<string, number>,
  stop: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const unused = new Map<string, number>()
  const named = new Set<string>()
  /** The beginnings of the keys of their parts. */
  const unreadableRooms = new Set<string>()
  for await (const { key, text, revision } of values.list('room', 'texts', stop)) {
    const record = recordIn(text)
    const parts = key.replace('room.', 'part.')
    if (record?.saved) named.add(`${parts}.${record.saved.id}`)
    else if (!record || hasContent(record)) unreadableRooms.add(parts)
    else unused.set(key, revision)
  }
  for await (const { key, revision } of values.list('part', 'keys', stop)) {
    const ofSave = key.slice(0, key.lastIndexOf('.'))
    const ofRoom = ofSave.slice(0, ofSave.lastIndexOf('.'))
    if (!named.has(ofSave) && !unreadableRooms.has(ofRoom)) unused.set(key, revision)
  }
  for (const [key, revision] of unused) {
    if (before.get(key) !== revision) continue
    await values.remove(key, revision)
    unused.delete(key)
  }
  return unused
}
