/** The options of the buses. Their numbers are in the `options.ts` of the server. */
import type { Duration } from '../../base/duration.ts'
import type { PostgresClient } from '../../clients/postgres.ts'

// Where messages pass, unless the options say otherwise

export const POSTGRES_CHANNEL = 'holdfast_bus'
export const MYSQL_TABLE = 'holdfast_bus'
export const REDIS_CHANNEL = 'holdfast:bus'
export const NATS_SUBJECT = 'holdfast.bus'
export const ETCD_KEY = 'holdfast-bus'

export interface PostgresBusOptions {
  /** Letters, digits and underscores. Default `holdfast_bus`. */
  readonly channel?: string | undefined
  /** A client with a direct connection, to listen with, if `client` connects through a pooler. Default: `client`. */
  readonly listen?: PostgresClient | undefined
}

export interface MysqlBusOptions {
  /** Created if it is missing. Default `holdfast_bus`. */
  readonly table?: string | undefined
  /** How often a node looks for messages. Default 50 ms. */
  readonly poll?: Duration | undefined
}

export interface RedisBusOptions {
  /** Default `holdfast:bus`. */
  readonly channel?: string | undefined
}

export interface NatsBusOptions {
  /** Default `holdfast.bus`. */
  readonly subject?: string | undefined
}

export interface EtcdBusOptions {
  /** Default `holdfast-bus`. */
  readonly key?: string | undefined
}
