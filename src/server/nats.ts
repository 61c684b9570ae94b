import * as v from 'valibot'
import { expectOptions, expectWhole, refuse } from '../base/arguments.ts'
import { systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { randomId } from '../base/random-id.ts'
import { expectNatsConnection, type NatsConnection } from '../clients/nats.ts'
import { natsError } from '../clients/nats-errors.ts'
import { Calls } from '../stores/local/calls.ts'
import { Bucket, type Message } from '../stores/nats/bucket.ts'
import { encodeName } from '../stores/nats/names.ts'
import {
  type DocumentStore,
  type Grant,
  KEEP_FENCE_MS,
  type SaveRefusal,
  savedDocument,
  UnreadableContent,
} from './documents.ts'
import type { SecretStore } from './secrets.ts'

export interface NatsPartsOptions {
  /** It is created if it is missing. Not the bucket of the leases. Default `holdfast-documents`. */
  readonly bucket?: string
  /** On how many servers a bucket is kept that is created here. Default 1. */
  readonly replicas?: number
}

/** The parts of a content are at `part.<room>.<id>.<number>`. */
const savedParts = v.object({
  id: v.string(),
  parts: v.pipe(v.number(), v.integer(), v.minValue(1)),
  token: v.number(),
  savedAt: v.number(),
})
/**
 * What a room's key contains. The content is in parts of its own, because every grant writes this record. `revision`
 * is that of the last save, also after its content was deleted.
 */
const roomRecord = v.object({
  fence: v.number(),
  holder: v.string(),
  saved: v.nullable(savedParts),
  revision: v.number(),
})
type SavedParts = v.InferOutput<typeof savedParts>
type RoomRecord = v.InferOutput<typeof roomRecord>

type Decision =
  | { readonly refused: SaveRefusal }
  | { readonly record: RoomRecord }
  /** The record is as it should be. */
  | 'done'

/** A message of NATS has at most 1 MiB by default, and a character at most three bytes. */
const PART_LENGTH = 256 * 1024
/** Several nodes raise the fence of one room at once only if its lock changes hands that fast. */
export const MAX_TRIES = 50

/**
 * Contents in a bucket of NATS JetStream. A save uploads the content under a new name, and then compares and sets the
 * room's record, which names it. It uses your connection and leaves it open. Needs `@nats-io/kv`.
 *
 * @example
 * const server = await createLockServer({ store: natsStore(connection), documents: natsDocuments(connection) })
 */
export function natsDocuments(connection: NatsConnection, options: NatsPartsOptions = {}): DocumentStore {
  const bucket = openBucket(connection, options)
  const calls = new Calls({ backend: 'NATS', explain: natsError })
  let nextSweepAt = -Infinity

  /** Returns the record that it replaced, or the refusal. */
  async function change(
    room: string,
    decide: (record: RoomRecord | null) => Decision,
  ): Promise<{ readonly replaced: Found | null } | SaveRefusal | 'done'> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const found = await find(bucket, room)
      const decision = decide(found?.record ?? null)
      if (decision === 'done') return decision
      if ('refused' in decision) return decision.refused
      const text = JSON.stringify(decision.record)
      const revision = await bucket.compareAndPut(roomKey(room), text, found?.revision ?? null)
      if (revision !== null) return { replaced: found }
    }
    throw new LeaseError('store-unavailable', `NATS: the record of ${JSON.stringify(room)} keeps changing`)
  }

  /** If it fails, a later sweep deletes them. */
  async function forgetParts(
    room: string,
    saved: SavedParts | null | undefined,
    until: number,
  ): Promise<void> {
    for (let part = 0; part < (saved?.parts ?? 0); part++)
      await bucket.purge(partKey(room, saved?.id ?? '', part), until).catch(() => {})
  }

  return {
    fence: (room, { token, holder }) =>
      calls.run(async () => {
        const changed = await change(room, (record) => {
          if (record && record.fence >= token) return 'done'
          return { record: { saved: null, revision: 0, ...record, fence: token, holder } }
        })
        return changed !== 'done'
      }),

    read: (room) =>
      calls.run(async () => {
        for (let last = 0; ; ) {
          const found = await find(bucket, room)
          if (!found?.record.saved) return null
          const { saved, revision } = found.record
          const parts = await Promise.all(
            Array.from({ length: saved.parts }, (_, part) => bucket.get(partKey(room, saved.id, part))),
          )
          if (parts.every((part) => part?.isMarker === false))
            return savedDocument(room, parts.map((part) => part?.text).join(''), { ...saved, revision })
          // Another save has replaced it meanwhile, unless the record is still the same.
          if (found.revision === last) throw new UnreadableContent(room)
          last = found.revision
        }
      }),

    save: (room, grant, content, expected) =>
      calls.run(async () => {
        const check = (record: RoomRecord | null) => refusalOf(record, grant, expected)
        const refused = check((await find(bucket, room))?.record ?? null)
        if (refused) return { saved: false, ...refused }
        const texts = partsOf(JSON.stringify(content))
        const id = randomId()
        let uploaded = 0
        for (const [part, text] of texts.entries()) uploaded = await bucket.put(partKey(room, id, part), text)
        const savedAt = systemClock.now()
        const saved: SavedParts = { id, parts: texts.length, token: grant.token, savedAt }
        let revision = uploaded
        const changed = await change(room, (record) => {
          const refused = check(record)
          if (refused || !record) return { refused: refused ?? { fence: null } }
          // The number of a message in the bucket only rises. Of two saves the later one may have uploaded first.
          revision = Math.max(uploaded, record.revision + 1)
          return { record: { ...record, saved, revision } }
        })
        if (changed !== 'done' && 'replaced' in changed) {
          const { replaced } = changed
          await forgetParts(room, replaced?.record.saved, replaced?.revision ?? 0)
          return { saved: true, savedAt, revision }
        }
        await forgetParts(room, saved, uploaded)
        return { saved: false, ...(changed as SaveRefusal) }
      }),

    remove: (room, grant, expected) =>
      calls.run(async () => {
        const changed = await change(room, (record) => {
          const refused = refusalOf(record, grant, expected)
          if (refused) return { refused }
          return record?.saved ? { record: { ...record, saved: null } } : 'done'
        })
        if (changed === 'done') return { removed: true }
        if (!('replaced' in changed)) return { removed: false, ...changed }
        await forgetParts(room, changed.replaced?.record.saved, changed.replaced?.revision ?? 0)
        return { removed: true }
      }),

    async sweep() {
      // It reads the names of all contents, so it runs once in an hour.
      const now = systemClock.monotonic()
      if (now < nextSweepAt) return
      nextSweepAt = now + KEEP_FENCE_MS
      await calls.scan((stop) => sweepBucket(bucket, stop.signal))
    },
  }
}

/** Secrets that all nodes share. Whoever may read the bucket may read them. */
export function natsSecrets(connection: NatsConnection, options: NatsPartsOptions = {}): SecretStore {
  const bucket = openBucket(connection, options)
  const calls = new Calls({ backend: 'NATS', explain: natsError })
  return {
    keep: (name, secret) =>
      calls.run(async () => {
        const key = `secret.${encodeName(name)}`
        await bucket.compareAndPut(key, secret, null)
        return (await bucket.get(key))?.text ?? ''
      }),
  }
}

/** Opens it with the first request. */
export function openBucket(connection: NatsConnection, options: NatsPartsOptions): Bucket {
  expectNatsConnection('connection', connection)
  expectOptions(options, { bucket: 1, replicas: 1 })
  const { bucket: name = 'holdfast-documents', replicas = 1 } = options
  if (typeof name !== 'string' || !/^[-\w]+$/.test(name))
    refuse('bucket', 'a name of letters, digits, - and _', name)
  expectWhole('replicas', replicas, 1)
  return new Bucket(connection, { name, replicas })
}

interface Found {
  readonly record: RoomRecord
  /** Of the record's message, to compare and set. */
  readonly revision: number
}

async function find(bucket: Bucket, room: string): Promise<Found | null> {
  const message = await bucket.get(roomKey(room))
  if (!message || message.isMarker) return null
  const record = recordIn(message.text)
  if (!record) throw new UnreadableContent(room)
  return { record, revision: message.revision }
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
function partsOf(text: string): string[] {
  return text.match(new RegExp(`.{1,${PART_LENGTH}}`, 'gsu')) ?? []
}

function roomKey(room: string): string {
  return `room.${encodeName(room)}`
}

function partKey(room: string, id: string, part: number): string {
  return `part.${encodeName(room)}.${id}.${part}`
}

/** Deletes old fences without a content, and the parts of saves that were interrupted. */
async function sweepBucket(bucket: Bucket, stop: AbortSignal): Promise<void> {
  const named = new Set<string>()
  for (const { key, text, revision, isOld } of await scan(bucket, 'room', stop)) {
    const record = recordIn(text)
    if (record?.saved) named.add(`${key.replace('room.', 'part.')}.${record.saved.id}`)
    else if (record && isOld) await bucket.purge(key, revision)
  }
  for (const { key, revision, isOld } of await scan(bucket, 'part', stop))
    if (isOld && !named.has(key.slice(0, key.lastIndexOf('.')))) await bucket.purge(key, revision)
}

type Scanned = Message & { readonly isOld: boolean }

/** All messages of a kind, the contents of parts left out. A message of our own that follows them is the end. */
async function scan(bucket: Bucket, kind: 'room' | 'part', stop: AbortSignal): Promise<Scanned[]> {
  const last = await bucket.put(`${kind}.=`, '')
  const end = AbortSignal.any([stop, bucket.connection.lost])
  const found: Message[] = []
  for await (const message of await bucket.deliver('last_per_subject', `${kind}.>`, end, kind === 'part')) {
    if (message.revision < last) {
      found.push(message)
      continue
    }
    const oldest = message.createdMs - KEEP_FENCE_MS
    return found.map((each) => ({ ...each, isOld: each.createdMs < oldest }))
  }
  throw new LeaseError('store-unavailable', 'NATS: the contents cannot be listed')
}
