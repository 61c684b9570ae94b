import type { ObservedLease } from '../../../src/protocol/index.ts'
import type { ResourceGroup } from './resource-groups.ts'
import type { DashboardTexts } from './texts.ts'

const ROOMS = 'document:'

/** The name in the lease's metadata, or else its owner. */
export function holderName(lease: ObservedLease): string {
  return personName(lease) ?? lease.owner
}

/** The name of a person. Programs have none. */
export function personName({ metadata }: ObservedLease): string | null {
  const { name } = Object(metadata)
  return typeof name === 'string' ? name : null
}

/** What else the holder says about itself, as texts. */
export function otherMetadata({ metadata }: ObservedLease): [string, string][] {
  return Object.entries(metadata ?? {}).flatMap(([key, value]) =>
    key === 'name' ? [] : [[key, typeof value === 'string' ? value : JSON.stringify(value)]],
  )
}

/** The same in one line: `host: build-7, job: nightly`. Without the id that our server gives a tab. */
export function metadataLine(lease: ObservedLease): string {
  return otherMetadata(lease)
    .filter(([key]) => key !== 'client' || !lease.resource.startsWith(ROOMS))
    .map(([key, value]) => `${key}: ${value}`)
    .join(', ')
}

/** `3 of 5`, or that it is a reader's. Empty for an exclusive lease. */
export function shareText({ share }: ObservedLease, holders: number, words: DashboardTexts): string {
  if (!share) return ''
  return share === 'unlimited' ? words.reader : words.shareOf(holders, share)
}

/** `4 of 4 · 6 waiting`, `12 readers`. */
export function crowdText(
  { leases: [first], total }: ResourceGroup,
  waiting: number,
  words: DashboardTexts,
): string {
  const isReaders = first.share === 'unlimited' && total > 1
  const holders = isReaders
    ? words.readers(total)
    : shareText(first, total, words) || words.holderCount(total)
  return waiting > 0 ? `${holders} · ${words.waitingCount(waiting)}` : holders
}

/** What a waiter waits for. */
export function wishText({ share }: Pick<ObservedLease, 'share'>, words: DashboardTexts): string {
  if (!share) return words.exclusive
  return share === 'unlimited' ? words.reader : words.upTo(share)
}
