import * as v from 'valibot'
import { instant, token } from './fields.ts'

export const auditEntry = v.object({
  at: instant,
  action: v.picklist(['lock', 'unlock', 'expired', 'take-over', 'force-release']),
  resource: v.string(),
  token,
  /** Whose lease it is about: a public id. */
  owner: v.string(),
  /** Who did it, where it was not the owner: a public id. */
  by: v.exactOptional(v.string()),
})
/** The newest first; `next` is the `before` of the following page. */
export const auditPage = v.object({ entries: v.array(auditEntry), next: v.exactOptional(v.number()) })

const count = v.number()
export const statsBucket = v.object({
  at: instant,
  grants: count,
  /** Requests at this node that were not granted. */
  refusals: count,
  ends: count,
  expiries: count,
  /** Leases that another took over. */
  lost: count,
  /** Milliseconds that those who were granted at this node in these ten seconds had waited. */
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
  /** Those who wait in line at this node. */
  waiters: count,
  /** Of the WebSocket. */
  channel_key: v.string(),
  bucket_ms: count,
  /** The last 15 minutes, oldest first. */
  buckets: v.array(statsBucket),
})

/** Whatever Holdfast's event streams tell; only the frame is checked. */
export const telemetryBatch = v.object({
  events: v.pipe(v.array(v.looseObject({ type: v.pipe(v.string(), v.maxLength(100)) })), v.maxLength(500)),
})
export const telemetryAccepted = v.object({ accepted: count })

/** Every error has a stable `error`; `message` is for people. */
export const errorBody = v.looseObject({ error: v.string(), message: v.string() })

export type AuditEntry = v.InferOutput<typeof auditEntry>
export type AuditPage = v.InferOutput<typeof auditPage>
export type Stats = v.InferOutput<typeof stats>
export type StatsBucket = v.InferOutput<typeof statsBucket>
export type TelemetryEvent = v.InferOutput<typeof telemetryBatch>['events'][number]

export const channelAuthRequest = v.object({
  socket_id: v.pipe(v.string(), v.regex(/^\d{1,20}\.\d{1,20}$/)),
  channel_name: v.pipe(v.string(), v.minLength(1), v.maxLength(400)),
})
/** `channel_data` of presence channels: who joins, as the others see it. */
export const channelAuth = v.object({ auth: v.string(), channel_data: v.exactOptional(v.string()) })
