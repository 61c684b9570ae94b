import type { ObservedLease } from '../../../src/protocol/index.ts'

/** The name in the lease's metadata, or else its owner. */
export function holderName({ owner, metadata }: ObservedLease): string {
  const { name } = Object(metadata)
  return typeof name === 'string' ? name : owner
}

/** What else the holder says about itself, as texts. */
export function otherMetadata({ metadata }: ObservedLease): [string, string][] {
  return Object.entries(metadata ?? {}).flatMap(([key, value]) =>
    key === 'name' ? [] : [[key, typeof value === 'string' ? value : JSON.stringify(value)]],
  )
}

/** The same in one line: `host: build-7, job: nightly`. */
export function metadataLine(lease: ObservedLease): string {
  return otherMetadata(lease)
    .map(([key, value]) => `${key}: ${value}`)
    .join(', ')
}
