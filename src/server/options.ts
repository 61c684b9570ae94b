/**
 * The options of a server and its parts, and the numbers that it is tuned with. What an operator can set, with its default and its limits, is in
 * `configuration/settings.ts`.
 */

import type { Clock } from '../base/clock.ts'
import type { TracingApi } from '../base/tracing.ts'
import type { PostgresClient } from '../clients/postgres.ts'
import { type GivenSettings, SETTINGS } from '../configuration/settings.ts'
import type { LeaseStore } from '../core/index.ts'
import type { AuditLog } from './audit.ts'
import type { Bus } from './bus.ts'
import type { DocumentStore } from './documents.ts'
import type { ClientOf } from './http/request-handler.ts'
import type { Authorize, Identify } from './identity.ts'
import type { Log } from './log.ts'
import type { RoomTerms } from './room-terms.ts'
import type { SecretStore } from './secrets.ts'
import type { OnTelemetry } from './service.ts'
import type { Meter } from './stats.ts'

/** How many entries an audit trail keeps, unless its option says otherwise. */
export const AUDIT_ENTRIES = SETTINGS.auditEntries.default
/** How long a socket may be silent before it is pinged, unless the setting says otherwise. */
export const ACTIVITY_TIMEOUT_MS = SETTINGS.activityTimeout.default
/** So that no statement takes long, and because `sql_safe_updates` asks for a limit. The next sweep goes on. */
export const DELETE_ENTRIES_AT_ONCE = 10_000
/** Old entries are deleted each time this number of new ones was added. */
export const DELETE_ENTRIES_EVERY = 100
/** How many entries of the audit trail are read at once. */
export const AUDIT_ENTRIES_AT_ONCE = 100

// Locks and rooms

export const MIN_ROOM_TTL_MS = 1000
export const MIN_HEARTBEAT_MS = 100
/** A lease that is older when the store answers was not granted by this answer. */
export const SURELY_REPEATED_MS = 1000
/** How many grants are remembered. The oldest are forgotten first. */
export const MAX_REMEMBERED_GRANTS = 20_000
/** How many names of holders are remembered. The oldest are forgotten first. */
export const MAX_REMEMBERED_NAMES = 10_000
/** How many identities are remembered, and how many clients of one. */
export const MAX_REMEMBERED_IDENTITIES = 20_000
export const MAX_CLIENTS_OF_IDENTITY = 100
/** How many verified cookies are remembered: a heartbeat comes every few seconds with the same cookie. */
export const MAX_REMEMBERED_COOKIES = 20_000
/** How many expired locks one sweep ends. */
export const SWEEP_AT_ONCE = 500
/** How long the fence of an empty room is kept: as long as a lease store keeps the row of a free resource. */
export const KEEP_FENCE_MS = 3_600_000
/** NATS takes 1 MiB and etcd 1.5 MiB by default, and a character has at most three bytes. */
export const DOCUMENT_PART_LENGTH = 256 * 1024
/** Several nodes write one key at once only if a lock changes hands, or events happen, that fast. */
export const MAX_KEY_TRIES = 50
/** How often a condition is checked again, because somebody else has saved or deleted since. */
export const MAX_CONDITION_TRIES = 3
/** A check writes to the store, so frequent probes share one. */
export const READY_FOR_MS = 2000

// The requests that wait

/** How long a place is kept after a request has ended without a grant, so that the client may repeat it. */
export const KEEP_PLACE_MS = 3000
/** How often waiters ask a store that cannot push. */
export const POLL_WAITERS_MS = 500
/** The pause before a store that is away is asked again. */
export const RETRY_REQUEST_MS = 500
/** When a client that was refused because too many wait should come again. */
export const RETRY_AFTER_S = 5
/** As long as a store reserves a resource for a waiter whose turn it is. */
export const ASKS_AGAIN_WITHIN_MS = 1000
/** How many places of clients of the lease API a node remembers. The oldest are forgotten first. */
export const MAX_PLACES = 20_000
/** How often the queues are read to see whether places still exist, and how many resources and waiters at once. */
export const RECOUNT_MS = 1000
export const RECOUNT_RESOURCES = 500
export const RECOUNT_WAITERS = 1000

// The waiters and readers that others see

/** How many waiters are shown by name. */
export const SHOWN_WAITERS = 20
/** A room has this many messages at once, and the next ones together in one message when this time is over. */
export const WAITERS_BURST = 5
export const WAITERS_BATCH_MS = 500
/** How many rooms have their messages counted. The oldest are forgotten first. */
export const MAX_WINDOWS = 10_000
/** How often a waiter that asks again and again is published again. It asks every few seconds. */
export const PUBLISH_AGAIN_MS = 10_000
/** What a node said is forgotten if it was not repeated in this time: a message may be lost, and a node may die. */
export const FORGET_NODE_AFTER_MS = 40_000
/** How many rooms of other nodes are remembered. */
export const MAX_REMOTE_ROOMS = 10_000
/** How many queues the census counts in one call. */
export const COUNT_AT_ONCE = 500
/** Any number of dashboards cost one count in this time. */
export const CENSUS_FRESH_MS = 2000
/** The longest queues are named, the others only counted. */
export const MAX_NAMED_QUEUES = 500
/** In how many rooms an observer sees who has them open, and how many people of each room. */
export const MAX_VIEWED_ROOMS = 500
export const SHOWN_VIEWERS = 5

// Following the leases of the store

/** This many ended leases are remembered, so that a late message does not report them again. */
export const MAX_REMEMBERED_LEASES = 10_000
export const READ_LEASES_AT_ONCE = 200
export const LIST_LEASES_AT_ONCE = 500
/** The pause before a read that failed is repeated. */
export const READ_LEASES_AGAIN_MS = 1000
/** Of how many leases the time of the last announced renewal is remembered. */
export const MAX_REMEMBERED_RENEWALS = 10_000
/** A heartbeat that comes a little early counts as the next one. */
export const EARLY_BEAT_FRACTION = 0.9

// Handoff

/** How many requests for a handoff may be open at this node. */
export const MAX_OPEN_HANDOFFS = 10_000
/** The shortest time in which a tab may save and hand over to another tab of its session. */
export const OWN_TAB_MS = 5000
/** How often the other nodes are told of an open request, because a message may be lost. */
export const TELL_HANDOFFS_EVERY_MS = 2000

// Channels

/** How long a socket may take to answer a ping. */
export const PONG_LIMIT_MS = 30_000
/** The longest frame that a client may send, unless `maxPayload` says otherwise. */
export const MAX_FRAME_BYTES = 16_384
/** How much may wait for a client that does not read, unless `maxBuffered` says otherwise. */
export const MAX_BUFFERED_BYTES = 1_048_576
/** The pause before the bus is subscribed again. */
export const SUBSCRIBE_AGAIN_MS = 1000
/** How long `close` waits until the other nodes were told. */
export const GOODBYE_LIMIT_MS = 1000
export const MIN_ACTIVITY_TIMEOUT_MS = 1000
/** A node that has not answered by then is left out of the count of a channel. */
export const OCCUPANCY_LIMIT_MS = 1000
/** How often a node says which members it has. */
export const PRESENCE_BEAT_MS = 10_000
/** A node that was silent for this long has no members any more. */
export const NODE_LOST_AFTER_MS = 35_000
/** If its own beat comes so late, this node stood still, and the messages of the others wait to be read. */
export const STOOD_STILL_MS = 2 * PRESENCE_BEAT_MS
/** An entry has some thousand bytes at most. */
export const PRESENCE_ENTRIES_PER_PAGE = 100
/** What happens within this time is sent to the webhook in one request. */
export const WEBHOOK_BATCH_MS = 200
export const MAX_WEBHOOK_EVENTS = 1000
/** How long the webhook may take to answer. */
export const WEBHOOK_LIMIT_MS = 5000
/** The pauses before a request to the webhook is repeated. */
export const WEBHOOK_PAUSES_MS = [1000, 4000, 16_000]
/** How far the clocks of the sender of a signed request and of the server may differ. */
export const SIGNATURE_WINDOW_S = 600
/** How long a client has to answer a close before its connection is cut. */
export const CLOSE_SOCKET_LIMIT_MS = 2000

// Buses between nodes

/** A connection on which the bus's own message takes longer than this is dead, though it looks alive. */
export const ECHO_LIMIT_MS = 5000
/** A connection that has not received the bus's own notification within this time does not receive any. */
export const BUS_PROBE_LIMIT_MS = 2000
/** How often a node looks for messages in MySQL, which cannot push. */
export const BUS_POLL_MS = 50
/** Numbers are given when a message is sent, and its transaction may end after one with a higher number. */
export const BUS_LATE_MS = 2000
export const KEEP_BUS_MESSAGES_MS = 60_000
export const BUS_MESSAGES_AT_ONCE = 500
/** A notification must be shorter than 8000 bytes. */
export const NOTIFICATION_LENGTH = 7900
/** Of how many senders the number of the last message is remembered. */
export const MAX_BUS_SENDERS = 1000

// The port and its metrics

/** How often the files of the certificate are looked at. */
export const CHECK_CERTIFICATE_EVERY_MS = 60_000
/** The bounds of the histograms: of requests, of waits and of calls to the store. */
export const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
export const WAIT_SECONDS = [0.05, 0.25, 1, 2.5, 5, 10, 15, 30, 60, 120, 600]
export const CALL_SECONDS = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1, 2.5, 5]
/** Enough for quantiles. Further waits in the same bucket replace earlier ones at random. */
export const WAIT_SAMPLES = 500
/** How the figures of a time range are grouped. */
export const STATS_RANGES = {
  '15m': { bucketMs: 10_000, buckets: 90 },
  '24h': { bucketMs: 300_000, buckets: 288 },
} as const

// Requests and storage

/** How many keys of etcd are listed at once. */
export const ETCD_KEYS_AT_ONCE = 500
/** How many keys of Redis are looked at in one step. */
export const REDIS_KEYS_AT_ONCE = 1000
/** How many characters of a number that JSON cannot keep a message shows. */
export const SHOWN_NUMBER_LENGTH = 40
/** How many characters of a refused origin a message shows. */
export const SHOWN_ORIGIN_LENGTH = 200
/** The longest prefix of a path that a proxy may name. */
export const MAX_PREFIX_LENGTH = 200
/** How many resources one request to the lease API may read. */
export const MAX_READ_LEASES = 100

// Options

export interface LockServerOptions {
  /** Where leases are stored, the same for all nodes. It stays open when the server is closed. */
  readonly store: LeaseStore
  /**
   * Where contents are stored, on the backend of the store, the same for all nodes. Default: in memory if the leases
   * are in memory too. With any other store there are no contents without it.
   */
  readonly documents?: DocumentStore | undefined
  /** Default: in memory. */
  readonly audit?: AuditLog | undefined
  /** Between the nodes. Default: within this process. It stays open when the server is closed. */
  readonly bus?: Bus | undefined
  /** Where the nodes keep the secrets that are not configured. Default: each node creates its own. */
  readonly secrets?: SecretStore | undefined
  /** By name; see `SETTINGS`. */
  readonly settings?: GivenSettings | undefined
  /** Who sent a request. Default: the signed session cookie. */
  readonly identify?: Identify | undefined
  /**
   * Whom the limits count. Default: the address of the connection, which a plain fetch handler does not know, and what
   * `trustProxy` allows. Without an address, each session is counted, and all who have none together.
   */
  readonly clientOf?: ClientOf | undefined
  /** Who may do what. Default: sessions may use documents; everything else needs a token of the settings. */
  readonly authorize?: Authorize | undefined
  readonly onTelemetry?: OnTelemetry | undefined
  /** Another ttl and heartbeat for some rooms. Default: those of the settings. */
  readonly roomTerms?: RoomTerms | undefined
  /** Where figures go. Default: `prometheusMeter()` in `createServer`. */
  readonly meter?: Meter | undefined
  /**
   * `@opentelemetry/api`, for a span of each request and each call of the store. Default: `@opentelemetry/api` in
   * `createServer`, if it is installed.
   */
  readonly tracing?: TracingApi | undefined
  /** Default: one line of JSON for each request, written with `console.log`. */
  readonly log?: Log | undefined
  readonly clock?: Clock | undefined
  /**
   * The address that the server around it listens on. On a loopback address only names of this machine are answered.
   * Default: `host` of the settings in `createServer`.
   */
  readonly listensOn?: string | undefined
}

export interface PostgresServerOptions {
  /** The schema of all tables. Default: that of the client. */
  readonly schema?: string | undefined
  /** The table of the leases. The other tables have this name with `_documents` and so on after it. Default `holdfast_leases` and `holdfast_documents`. */
  readonly table?: string | undefined
  /** A client with a direct connection, to listen with, if `client` connects through a pooler. Default: `client`. */
  readonly listen?: PostgresClient | undefined
}

export interface MysqlServerOptions {
  /** The table of the leases. The other tables have this name with `_documents` and so on after it. Default `holdfast_leases` and `holdfast_documents`. */
  readonly table?: string | undefined
}

export interface RedisServerOptions {
  /** The beginning of every key and channel. Default `holdfast`. */
  readonly prefix?: string | undefined
}

export interface NatsServerOptions {
  /** The bucket of the leases. The contents have a bucket of this name with `-documents` after it. Default `holdfast`. */
  readonly bucket?: string | undefined
  /** On how many servers a bucket is kept that is created here. Default 1. */
  readonly replicas?: number | undefined
}

export interface EtcdServerOptions {
  /** The beginning of the keys of the leases. The contents have keys that begin with `holdfast-documents/`. Default `holdfast/`. */
  readonly prefix?: string | undefined
}

export interface RedisPartsOptions {
  /** All keys begin with it. Use that of the leases. Default `holdfast`. */
  readonly prefix?: string | undefined
}

export interface RedisAuditOptions extends RedisPartsOptions {
  /** Older entries are deleted. Default 10 000. */
  readonly maxEntries?: number | undefined
}

export interface NatsPartsOptions {
  /** It is created if it is missing. Not the bucket of the leases. Default `holdfast-documents`. */
  readonly bucket?: string | undefined
  /** On how many servers a bucket is kept that is created here. Default 1. */
  readonly replicas?: number | undefined
}

export interface NatsAuditOptions extends NatsPartsOptions {
  /** Older entries are overwritten. Default 10 000. */
  readonly maxEntries?: number | undefined
}

export interface EtcdPartsOptions {
  /** All keys begin with it. Not the prefix of the leases. Default `holdfast-documents/`. */
  readonly prefix?: string | undefined
}

export interface EtcdAuditOptions extends EtcdPartsOptions {
  /** Older entries are overwritten. Default 10 000. */
  readonly maxEntries?: number | undefined
}

export interface SqlAuditOptions {
  /** Created if it is missing. Default `holdfast_audit`. */
  readonly table?: string | undefined
  /** Older entries are deleted. Default 10 000. */
  readonly maxEntries?: number | undefined
}

export interface SqlDocumentsOptions {
  /** Created if it is missing. Default `holdfast_documents`. */
  readonly table?: string | undefined
}

export interface SqlSecretsOptions {
  /** Created if it is missing. Default `holdfast_secrets`. */
  readonly table?: string | undefined
}

export interface MigrateServerOptions {
  /** Default: the first schema of the connection's search path. */
  readonly schema?: string | undefined
  /** The table of the leases. Default `holdfast_leases`. */
  readonly leases?: string | undefined
  /** Default `holdfast_documents`. */
  readonly documents?: string | undefined
  /** Default `holdfast_audit`. */
  readonly audit?: string | undefined
  /** Default `holdfast_secrets`. */
  readonly secrets?: string | undefined
  /**
   * A role that gets what a node needs: usage of the schema; select, insert, update and delete on the tables; execute
   * on the functions.
   */
  readonly grantTo?: string | undefined
}
