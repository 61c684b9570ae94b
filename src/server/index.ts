/*
 * The document lock service, as a fetch handler.
 *
 *     request ─▶ http/request-handler ─▶ routes ─▶ locks, handoff, documents ─▶ the store, documents, audit
 *                the store ─ watch ─▶ lease-feed ─▶ announcer ─▶ channels ─▶ sockets
 *
 * A holder is a browser that sends its own heartbeats, so no manager holds for it: `locks.ts` asks, renews and
 * releases on the port, with an id made from the session and the tab. Waiting is an open request that asks again
 * when the store wakes it (`waiting-requests.ts`). `client-places.ts` has the places in queues that clients of the
 * lease API took at this node: a client that is called, does not ask again and listens nowhere loses all of them at
 * once.
 *
 * **Announcing.** `lease-feed.ts` turns what the store reports, in any order and any number of times, into
 * `started`, `renewed`, `ended`, `kept` and `freed`, each once. Every node does this for its own sockets. No node
 * depends on another.
 *
 * **Contents, fences and secrets** are in the backend of the locks, so nodes share them. A grant raises the fence in
 * the row of the content before it is answered, and a save compares and writes in one statement. A lease that
 * somebody took directly on the store raises no fence, so a save also checks the live lease. Fences of empty rooms
 * are deleted after an hour, and raised again by the save of a live holder.
 *
 * **Handoff** stores nothing: the request stays open, the answer of the holder comes over the bus, and the takeover
 * is the port's `replace` of that token. Nodes tell each other every two seconds which requests are open, and every
 * answer to the holder has the oldest one, so a holder that was away learns of it.
 *
 * **Routes are a table.** The router, the checks, the limits and `/openapi.json` are made from `Route`
 * (`http/route.ts`), so they cannot differ. The heartbeat is the most frequent call: verified cookies and tabs are
 * remembered.
 *
 * **The audit trail** is a port with an implementation for each backend, stored where the contents are. On NATS and
 * etcd, contents, audit trail and secrets are one implementation (`key-value-*.ts`) over `KeyValues`.
 *
 * **Versions.** `holdfast_versions` has the version of each server table and the oldest code version that may use
 * it. A node looks before its first statement, at each `/readyz` and after each failed statement. A newer schema
 * that excludes it ends its writes (`clients/schema-version.ts`). `node/listener.ts` is the port of a server: it
 * answers 503 until `serve`, and drains before it closes. `http/proxies.ts` decides who sent a request; limits, log,
 * host and origin checks use its answer.
 *
 * **A bus** is `createBus` plus a transport of three functions (`buses`). It may lose messages, so nothing depends
 * on a single one. On etcd it is one key that every message overwrites: a watch delivers every value.
 */

export type { SpanAttributes, SpanLike, TracingApi, TracingContext } from '../base/tracing.ts'
export type { EtcdClient } from '../clients/etcd.ts'
export type { MysqlClient } from '../clients/mysql.ts'
export type { NatsConnection } from '../clients/nats.ts'
export type { PostgresClient } from '../clients/postgres.ts'
export type { RedisClient } from '../clients/redis.ts'
export type { Setting } from '../configuration/setting-kinds.ts'
export {
  type GivenSettings,
  resolveSettings,
  SETTINGS,
  type SettingName,
  type Settings,
  type SettingsSource,
  settingsOf,
} from '../configuration/settings.ts'
export type { AuditEntry, AuditPage, TelemetryEvent } from '../protocol/index.ts'
export { type AuditLog, type AuditQuery, type AuditReading, memoryAudit } from './audit.ts'
export type { Bus, BusMessage } from './bus.ts'
export { etcdBus } from './buses/etcd.ts'
export { memoryBus } from './buses/memory.ts'
export { mysqlBus } from './buses/mysql.ts'
export { natsBus } from './buses/nats.ts'
export type {
  EtcdBusOptions,
  MysqlBusOptions,
  NatsBusOptions,
  PostgresBusOptions,
  RedisBusOptions,
} from './buses/options.ts'
export { postgresBus } from './buses/postgres.ts'
export { redisBus } from './buses/redis.ts'
export {
  type ChannelLimits,
  type Channels,
  type ChannelsHub,
  type Connection,
  type ConnectionHandler,
  type ConnectionRequest,
  createChannels,
  type EventNaming,
} from './channels/index.ts'
export type { ChannelsOptions } from './channels/options.ts'
export { createLockServer, type LockServer } from './create.ts'
export {
  type ChangeConditions,
  type DocumentGrant,
  type DocumentStore,
  memoryDocuments,
  type Removal,
  type SaveRefusal,
  type Saving,
  type StoredDocument,
  UnreadableContent,
} from './documents.ts'
export { etcdAudit, etcdDocuments, etcdSecrets } from './etcd.ts'
export type { HostCheck } from './http/hosts.ts'
export type { Sender, SenderOf } from './http/proxies.ts'
export type { ClientOf } from './http/request-handler.ts'
export type { HeaderOf } from './http/request-headers.ts'
export {
  type Action,
  type Authorize,
  defaultAuthorize,
  type Identify,
  type IdentifyResult,
  type Identity,
  type Role,
} from './identity.ts'
export { jsonLog, type Log, type LogLevel } from './log.ts'
export { migrateServer } from './migrate-server.ts'
export { mysqlAudit, mysqlDocuments, mysqlSecrets } from './mysql.ts'
export { natsAudit, natsDocuments, natsSecrets } from './nats.ts'
export type {
  EtcdAuditOptions,
  EtcdPartsOptions,
  EtcdServerOptions,
  LockServerOptions,
  MigrateServerOptions,
  MysqlServerOptions,
  NatsAuditOptions,
  NatsPartsOptions,
  NatsServerOptions,
  PostgresServerOptions,
  RedisAuditOptions,
  RedisPartsOptions,
  RedisServerOptions,
  SqlAuditOptions,
  SqlDocumentsOptions,
  SqlSecretsOptions,
} from './options.ts'
export {
  etcdParts,
  mysqlParts,
  natsParts,
  postgresParts,
  redisParts,
  type ServerParts,
  type SharedParts,
} from './parts.ts'
export { postgresAudit, postgresDocuments, postgresSecrets } from './postgres.ts'
export {
  checkDependencies,
  type Dependencies,
  type DependencyFailure,
  type DependencyName,
} from './readiness.ts'
export { redisAudit, redisDocuments, redisSecrets } from './redis.ts'
export type { RoomTerms } from './room-terms.ts'
export type { SecretStore } from './secrets.ts'
export type { OnTelemetry } from './service.ts'
export type { CurrentFigures, LeaseChange, Meter, Part } from './stats.ts'
