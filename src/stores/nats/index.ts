import { expectNatsConnection, type NatsConnection } from '../../clients/nats.ts'
import type { LeaseStore } from '../../core/index.ts'
import { registerStore } from '../registers/index.ts'
import { Bucket } from './bucket.ts'
import { checkOptions, type NatsStoreOptions } from './options.ts'
import { BucketRegisters } from './registers.ts'

export type { NatsStoreOptions } from './options.ts'
export type { NatsConnection }

/**
 * Leases in a bucket of NATS JetStream. Uses your connection and leaves it open. Needs `@nats-io/kv`.
 *
 * @example
 * const connection = await connect({ servers: 'nats://localhost:4222' })
 * const leases = createLeases(natsStore(connection))
 */
export function natsStore(connection: NatsConnection, options: NatsStoreOptions = {}): LeaseStore {
  expectNatsConnection('connection', connection)
  const { bucket, replicas, maxInFlight } = checkOptions(options)
  const registers = new BucketRegisters(new Bucket(connection, { name: bucket, replicas }))
  return registerStore(registers, { kind: 'nats', backend: 'NATS', maxInFlight })
}
