import { LeaseError, type LeaseStore } from '../../core/index.ts'
import { registerStore } from '../registers/store.ts'
import { Bucket } from './bucket.ts'
import { BucketRegisters } from './bucket-registers.ts'
import type { NatsConnection } from './line.ts'

export type { NatsConnection }

export interface NatsStoreOptions {
  /** The bucket that keeps the leases; made when it is missing. Default `holdfast`. */
  readonly bucket?: string
  /** On how many servers a bucket that is made here is kept. Default 1. */
  readonly replicas?: number
}

/**
 * Leases in a bucket of NATS JetStream. Takes a connection of yours and leaves it open; needs `@nats-io/kv`.
 *
 * @example
 * const connection = await connect({ servers: 'nats://localhost:4222' })
 * const leases = createLeases(natsStore(connection))
 */
export function natsStore(connection: NatsConnection, options: NatsStoreOptions = {}): LeaseStore {
  const { bucket = 'holdfast', replicas = 1 } = options
  if (typeof connection?.status !== 'function') refuse('connection', 'a NatsConnection')
  if (typeof bucket !== 'string' || !/^[-\w]+$/.test(bucket)) refuse('bucket', 'letters, digits, - and _')
  if (!Number.isInteger(replicas) || replicas < 1) refuse('replicas', 'a whole number from 1')
  return registerStore('nats', new BucketRegisters(new Bucket(connection, { name: bucket, replicas })))
}

function refuse(option: string, expected: string): never {
  throw new LeaseError('invalid-argument', `natsStore: expected ${option} to be ${expected}`)
}
