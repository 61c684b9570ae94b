/**
 * Contents on any backend of keys and texts. A room's key has its fence and the name of its content, whose parts are
 * under keys of their own, because every grant writes the room's key. A save uploads the content under a new name, and
 * then compares and sets the room's key.
 */
import * as v from 'valibot'
import { type Clock, systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { randomId } from '../base/random-id.ts'
import type { Running } from '../stores/local/calls.ts'
import { encodeName } from '../stores/nats/names.ts'
import {
  type DocumentStore,
  type Grant,
  KEEP_FENCE_MS,
  type SaveRefusal,
  savedDocument,
  UnreadableContent,
} from './documents.ts'
import { callsOf, type KeyValues, MAX_TRIES } from './key-values.ts'

/** The parts of a content are at `part.<room>.<id>.<number>`. */
const savedParts = v.object({
  id: v.string(),
  parts: v.pipe(v.number(), v.integer(), v.minValue(1)),
  token: v.number(),
  savedAt: v.number(),
})
/** `revision` is that of the last save, also after its content was deleted. */
const roomRecord = v.object({
  fence: v.number(),
  holder: v.string(),
  saved: v.nullable(savedParts),
  revision: v.number(),
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
interface Replacement {
  readonly replaced: Found | null
}

/** NATS takes 1 MiB and etcd 1.5 MiB by default, and a character has at most three bytes. */
const PART_LENGTH = 256 * 1024

export function keyValueDocuments(values: KeyValues, clock: Clock = systemClock): DocumentStore {
  const calls = callsOf(values)
  let nextSweepAt = -Infinity
  /** What the last sweep found unused, with its revision. */
  let unused: ReadonlyMap<string, number> = new Map()

  async function find(room: string): Promise<Found | null> {
    const stored = await values.get(roomKey(room))
    if (!stored) return null
    const record = recordIn(stored.text)
    if (!record) throw new UnreadableContent(room)
    return { record, revision: stored.revision }
  }

  async function change(
    room: string,
    stop: Running,
    decide: (record: RoomRecord | null) => Decision,
  ): Promise<Replacement | { readonly refused: SaveRefusal } | 'done'> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const found = await find(room)
      const decision = decide(found?.record ?? null)
      if (decision === 'done' || 'refused' in decision) return decision
      stop.throwIfAborted()
      const text = JSON.stringify(decision.record)
      if (await values.compareAndPut(roomKey(room), text, found?.revision ?? null)) return { replaced: found }
    }
    throw new LeaseError(
      'store-unavailable',
      `${values.backend}: the record of ${JSON.stringify(room)} keeps changing`,
    )
  }

  /** If it fails, a later sweep deletes them. */
  async function forgetParts(room: string, saved: SavedParts, until: number): Promise<void> {
    for (const key of partKeys(room, saved)) await values.remove(key, until).catch(() => {})
  }

  async function forgetReplaced(room: string, { replaced }: Replacement): Promise<void> {
    if (replaced?.record.saved) await forgetParts(room, replaced.record.saved, replaced.revision)
  }

  return {
    check: () =>
      calls.run(async () => {
        await values.put('check', '')
      }),

    fence: (room, { token, holder }) =>
      calls.run(async (stop) => {
        const changed = await change(room, stop, (record) => {
          if (record && record.fence >= token) return 'done'
          return { record: { saved: null, revision: 0, ...record, fence: token, holder } }
        })
        return changed !== 'done'
      }),

    read: (room) =>
      calls.run(async () => {
        for (let last = 0; ; ) {
          const found = await find(room)
          if (!found?.record.saved) return null
          const { saved, revision } = found.record
          const parts = await Promise.all(partKeys(room, saved).map((key) => values.get(key)))
          if (parts.every((part) => part !== null))
            return savedDocument(room, parts.map(({ text }) => text).join(''), { ...saved, revision })
          // Another save has replaced it meanwhile, unless the record is still the same.
          if (found.revision === last) throw new UnreadableContent(room)
          last = found.revision
        }
      }),

    save: (room, grant, content, expected) =>
      calls.run(async (stop) => {
        const refused = refusalOf((await find(room))?.record ?? null, grant, expected)
        if (refused) return { saved: false, ...refused }
        const texts = textsOf(JSON.stringify(content))
        const savedAt = clock.now()
        const saved: SavedParts = { id: randomId(), parts: texts.length, token: grant.token, savedAt }
        let uploaded = 0
        for (const [part, key] of partKeys(room, saved).entries()) {
          stop.throwIfAborted()
          uploaded = await values.put(key, texts[part] ?? '')
        }
        let revision = uploaded
        const changed = await change(room, stop, (record) => {
          // An earlier try wrote it, and its answer was lost.
          if (record?.saved?.id === saved.id) return 'done'
          const refused = refusalOf(record, grant, expected)
          if (refused || !record) return { refused: refused ?? { fence: null } }
          // If this process stood still for so long, a sweep may have deleted the parts.
          if (Math.abs(clock.now() - savedAt) > KEEP_FENCE_MS / 2)
            throw new LeaseError('store-unavailable', `${values.backend}: the save took too long`)
          // Of two saves the later one may have uploaded first.
          revision = Math.max(uploaded, record.revision + 1)
          return { record: { ...record, saved, revision } }
        })
        if (changed !== 'done' && 'refused' in changed) {
          await forgetParts(room, saved, uploaded)
          return { saved: false, ...changed.refused }
        }
        if (changed !== 'done') await forgetReplaced(room, changed)
        return { saved: true, savedAt, revision }
      }),

    remove: (room, grant, expected) =>
      calls.run(async (stop) => {
        const changed = await change(room, stop, (record) => {
          const refused = refusalOf(record, grant, expected)
          if (refused) return { refused }
          return record?.saved ? { record: { ...record, saved: null } } : 'done'
        })
        if (changed === 'done') return { removed: true }
        if ('refused' in changed) return { removed: false, ...changed.refused }
        await forgetReplaced(room, changed)
        return { removed: true }
      }),

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

/** `null`: damaged, or written by another version. */
function recordIn(text: string): RoomRecord | null {
  try {
    const parsed: unknown = JSON.parse(text)
    return v.is(roomRecord, parsed) ? parsed : null
  } catch {
    return null
  }
}

function refusalOf(
  record: RoomRecord | null,
  grant: Grant | null,
  expected: number | undefined,
): SaveRefusal | null {
  if (grant && (record?.fence !== grant.token || record.holder !== grant.holder))
    return { fence: record?.fence ?? null }
  const revision = record?.saved ? record.revision : 0
  return expected === undefined || expected === revision ? null : { revision }
}

/** Never cuts a character in two. */
function textsOf(content: string): string[] {
  return content.match(new RegExp(`.{1,${PART_LENGTH}}`, 'gsu')) ?? []
}

function roomKey(room: string): string {
  return `room.${encodeName(room)}`
}

function partKeys(room: string, { id, parts }: SavedParts): string[] {
  return Array.from({ length: parts }, (_, part) => `part.${encodeName(room)}.${id}.${part}`)
}

/**
 * Deletes fences without a content and parts of interrupted saves that the last sweep found too. Resolves with the
 * others. Their age is counted here, because etcd has no clock.
 */
async function sweepUnused(
  values: KeyValues,
  before: ReadonlyMap<string, number>,
  stop: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const unused = new Map<string, number>()
  const named = new Set<string>()
  for await (const { key, text, revision } of values.list('room', 'texts', stop)) {
    const record = recordIn(text)
    if (record?.saved) named.add(`${key.replace('room.', 'part.')}.${record.saved.id}`)
    else if (record) unused.set(key, revision)
  }
  for await (const { key, revision } of values.list('part', 'keys', stop))
    if (!named.has(key.slice(0, key.lastIndexOf('.')))) unused.set(key, revision)
  for (const [key, revision] of unused) {
    if (before.get(key) !== revision) continue
    await values.remove(key, revision)
    unused.delete(key)
  }
  return unused
}
