import * as v from 'valibot'
import { instant, personName, token } from './fields.ts'
import { viewer } from './leases.ts'
import { MAX_RECORD_TYPE_LENGTH, MAX_RECORDS, MAX_SIGNED_CHANNEL_LENGTH } from './options.ts'

const ACTIONS = ['lock', 'unlock', 'expired', 'take-over', 'force-release', 'delete'] as const

/** Types that the server exports are written out, so that they need no type of Valibot. */
export interface AuditEntry {
  /** ISO 8601, by the clock of the server's store. */
  at: string
  action: (typeof ACTIONS)[number]
  resource: string
  /** 0 for a deletion. */
  token: number
  /** The owner of the lease, or who deleted the content: a public id. */
  owner: string
  /** The name that the owner showed to others. */
  owner_name?: string
  /** Who did it, if it was not the owner: a public id. */
  by?: string
}
export const auditEntry = v.object({
  at: instant,
  action: v.picklist(ACTIONS),
  resource: v.string(),
  token,
  owner: v.string(),
  owner_name: v.exactOptional(v.string()),
  by: v.exactOptional(v.string()),
}) satisfies v.GenericSchema<AuditEntry>

/** The newest entry is first. `next` is the `before` of the following page. */
export interface AuditPage {
  entries: AuditEntry[]
  next?: number
}
export const auditPage = v.object({
  entries: v.array(auditEntry),
  next: v.exactOptional(v.number()),
}) satisfies v.GenericSchema<AuditPage>

const count = v.number()
const statsBucket = v.object({
  at: instant,
  /** By the time at which the store granted them. */
  grants: count,
  /** Requests that this node has answered: granted, or refused without a place in the queue. */
  answered: count,
  /** Those of them that were refused. */
  refusals: count,
  ends: count,
  expiries: count,
  /** Leases that were taken over. */
  lost: count,
  /** How many milliseconds the requests waited that this node granted in this time. */
  waits: v.object({
    count,
    p50: v.nullable(v.number()),
    p95: v.nullable(v.number()),
    p99: v.nullable(v.number()),
  }),
})
export const stats = v.object({
  /** All live leases. */
  live: count,
  /** Leases that have ended and keep their resources, by `atLeast` or `lockDelay`. */
  kept: count,
  /** All that wait, as far as the store knows. `null`: it could not be read. */
  waiters: v.nullable(count),
  /** The resources for which most wait, the longest queue first. */
  queues: v.array(v.object({ resource: v.string(), waiting: count })),
  /** Of the rooms with a lease, those that most people have open: how many, and some of them. */
  viewed: v.array(v.object({ resource: v.string(), count, first: v.array(viewer) })),
  /** When this node began to count. Of earlier times only the leases are known that still lived then. */
  since: instant,
  /** The key of the WebSocket. */
  channel_key: v.string(),
  bucket_ms: count,
  /** Oldest first. The last one is not complete. */
  buckets: v.array(statsBucket),
})

/** An event of one of Holdfast's parts. Only its common form is checked. */
export interface TelemetryEvent {
  type: string
  [field: string]: unknown
}
export const telemetryBatch = v.object({
  events: v.pipe(
    v.array(v.looseObject({ type: v.pipe(v.string(), v.maxLength(MAX_RECORD_TYPE_LENGTH)) })),
    v.maxLength(MAX_RECORDS),
  ),
}) satisfies v.GenericSchema<{ events: TelemetryEvent[] }>
export const telemetryAccepted = v.object({ accepted: count })

/** Every error has a stable `error`. The `message` is for people. */
export const errorBody = v.looseObject({ error: v.string(), message: v.string() })

export type Stats = v.InferOutput<typeof stats>
export type StatsBucket = v.InferOutput<typeof statsBucket>

export const channelAuthRequest = v.object({
  socket_id: v.pipe(v.string(), v.regex(/^\d{1,20}\.\d{1,20}$/)),
  channel_name: v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_SIGNED_CHANNEL_LENGTH)),
  /** What the members of a presence channel see, unless the identity has a name. */
  name: v.exactOptional(personName),
})
export const userAuthRequest = v.object({ socket_id: channelAuthRequest.entries.socket_id })
/** `user_data`: JSON with the user's public id and name. */
export const userAuth = v.object({ auth: v.string(), user_data: v.string() })
/** `channel_data`, for presence channels: what the other members see of the one who joins. */
export const channelAuth = v.object({ auth: v.string(), channel_data: v.exactOptional(v.string()) })
