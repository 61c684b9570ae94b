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
export { type EtcdBusOptions, etcdBus } from './buses/etcd.ts'
export { memoryBus } from './buses/memory.ts'
export { type MysqlBusOptions, mysqlBus } from './buses/mysql.ts'
export { type NatsBusOptions, natsBus } from './buses/nats.ts'
export { type PostgresBusOptions, postgresBus } from './buses/postgres.ts'
export { type RedisBusOptions, redisBus } from './buses/redis.ts'
export {
  type ChannelLimits,
  type Channels,
  type ChannelsHub,
  type ChannelsOptions,
  type Connection,
  type ConnectionHandler,
  type ConnectionRequest,
  createChannels,
  type EventNaming,
} from './channels/index.ts'
export { createLockServer, type LockServer, type LockServerOptions } from './create.ts'
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
export {
  type EtcdAuditOptions,
  type EtcdPartsOptions,
  etcdAudit,
  etcdDocuments,
  etcdSecrets,
} from './etcd.ts'
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
export { type MigrateServerOptions, migrateServer } from './migrate-server.ts'
export { mysqlAudit, mysqlDocuments, mysqlSecrets } from './mysql.ts'
export {
  type NatsAuditOptions,
  type NatsPartsOptions,
  natsAudit,
  natsDocuments,
  natsSecrets,
} from './nats.ts'
export {
  type EtcdServerOptions,
  etcdParts,
  type MysqlServerOptions,
  mysqlParts,
  type NatsServerOptions,
  natsParts,
  type PostgresServerOptions,
  postgresParts,
  type RedisServerOptions,
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
export {
  type RedisAuditOptions,
  type RedisPartsOptions,
  redisAudit,
  redisDocuments,
  redisSecrets,
} from './redis.ts'
export type { RoomTerms } from './room-terms.ts'
export type { SecretStore } from './secrets.ts'
export type { OnTelemetry } from './service.ts'
export type { SqlAuditOptions } from './sql-audit.ts'
export type { SqlDocumentsOptions } from './sql-documents.ts'
export type { SqlSecretsOptions } from './sql-secrets.ts'
export type { CurrentFigures, LeaseChange, Meter, Part } from './stats.ts'
