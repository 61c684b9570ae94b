/** The options of `natsStore`, their defaults, limits and checks, and the numbers that the store is tuned with. */
import { type Complete, expectOptions, expectWhole, refuse } from '../../base/arguments.ts'

export interface NatsStoreOptions {
  /** The bucket that keeps the leases. It is created if it is missing. Default `holdfast`. */
  readonly bucket?: string | undefined
  /** On how many servers a bucket is kept that is created here. Default 1. */
  readonly replicas?: number | undefined
  /** How many acquire requests may be in flight. The others wait in this process, in order. Default 256. */
  readonly maxInFlight?: number | undefined
}

const DEFAULTS = { bucket: 'holdfast', replicas: 1, maxInFlight: 256 }

export function checkOptions(options: NatsStoreOptions): Complete<NatsStoreOptions> {
  expectOptions(options, { bucket: 1, replicas: 1, maxInFlight: 1 })
  const {
    bucket = DEFAULTS.bucket,
    replicas = DEFAULTS.replicas,
    maxInFlight = DEFAULTS.maxInFlight,
  } = options
  if (typeof bucket !== 'string' || !/^[-\w]+$/.test(bucket))
    refuse('bucket', 'a name of letters, digits, - and _', bucket)
  expectWhole('replicas', replicas, 1)
  return { bucket, replicas, maxInFlight }
}

/** How long a call waits for a connection that is down: a little longer than the client's pause of 2 s before it reconnects. */
export const RECONNECT_LIMIT_MS = 3000
