import { expectOptions, expectWhole, refuse } from '../../base/arguments.ts'
import { expectNatsConnection, type NatsConnection } from '../../clients/nats.ts'
import type { LeaseStore } from '../../core/index.ts'
import { registerStore } from '../registers/index.ts'
import { Bucket } from './bucket.ts'
import { BucketRegisters } from './registers.ts'

export type { NatsConnection }

export interface NatsStoreOptions {
  /** The bucket that keeps the leases. It is created if it is missing. Default `holdfast`. */
  readonly bucket?: string
  /** On how many servers a bucket is kept that is created here. Default 1. */
  readonly replicas?: number
  /** How many acquire requests may be in flight. The others wait in this process, in order. Default 256. */
  readonly maxInFlight?: number
}

/**
 * Leases in a bucket of NATS JetStream. Uses your connection and leaves it open. Needs `@nats-io/kv`.
 *
 * @example
 * const connection = await connect({ servers: 'nats://localhost:4222' })
 * const leases = createLeases(natsStore(connection))
 */
export function natsStore(connection: NatsConnection, options: NatsStoreOptions = {}): LeaseStore {
  expectNatsConnection('connection', connection)
  expectOptions(options, { bucket: 1, replicas: 1, maxInFlight: 1 })
  const { bucket = 'holdfast', replicas = 1, maxInFlight = 256 }: NatsStoreOptions = options
  if (typeof bucket !== 'string' || !/^[-\w]+$/.test(bucket))
    refuse('bucket', 'a name of letters, digits, - and _', bucket)
  expectWhole('replicas', replicas, 1)
  const registers = new BucketRegisters(new Bucket(connection, { name: bucket, replicas }))
  return registerStore(registers, { kind: 'nats', backend: 'NATS', maxInFlight })
}
