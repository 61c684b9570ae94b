import type { ObservedLease } from '../../../src/protocol/index.ts'
import type { DashboardTexts } from './texts.ts'

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

/** How many leases of each resource there are. */
export function countHolders(leases: readonly ObservedLease[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { resource } of leases) counts.set(resource, (counts.get(resource) ?? 0) + 1)
  return counts
}

/** `3 of 5`, or that it is a reader's. Empty for an exclusive lease. */
export function shareText({ share }: ObservedLease, holders: number, words: DashboardTexts): string {
  if (!share) return ''
  return share === 'unlimited' ? words.reader : words.shareOf(holders, share)
}

/** What a waiter waits for. */
export function wishText({ share }: Pick<ObservedLease, 'share'>, words: DashboardTexts): string {
  if (!share) return words.exclusive
  return share === 'unlimited' ? words.reader : words.upTo(share)
}
