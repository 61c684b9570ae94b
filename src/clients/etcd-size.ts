import { LeaseError } from '../base/errors.ts'
import { MAX_ETCD_BYTES } from './options.ts'

/** Refuses a value that etcd would refuse. If it is much larger, `etcd3` then sends nothing for seconds. */
export function expectEtcdSize(what: string, text: string, resource?: string): void {
  const bytes = new TextEncoder().encode(text).length
  if (bytes > MAX_ETCD_BYTES)
    throw new LeaseError(
      'store-failed',
      `etcd: expected ${what} of at most ${MAX_ETCD_BYTES} bytes, got ${bytes}`,
      { resource },
    )
}
