/**
 * Linearizability of acquire, renew and release, for each resource. A call takes effect at one moment between its
 * start and its end. In general one must search for an order of these moments. Here the tokens are the order of the
 * grants, so it is enough to compare each lease with those before it:
 *
 * - A lease is *certainly live* until the earliest of: the start of its first release, of a forced end, and its last
 *   acknowledged extension plus the TTL. A lease that is granted by then must fit beside it.
 * - A lease is *certainly over* after a release was acknowledged, or when the last extension that may have arrived has
 *   run out. No renewal may succeed after that.
 */

export interface LeaseOperation {
  /**
   * `force`: somebody else ends leases of the resource: the one with `token`, or all of them. A takeover is a `force`
   * and an `acquire` with the same id.
   */
  readonly kind: 'acquire' | 'renew' | 'release' | 'force'
  readonly resource: string
  /** Of the acquisition. */
  readonly id: string
  readonly by: string
  /** True time, in milliseconds. */
  readonly start: number
  /** `Infinity`: no answer came, so it is unknown whether it was carried out. */
  end: number
  readonly ttl?: number | undefined
  readonly share?: number | undefined
  readonly atLeast?: number | undefined
  readonly lockDelay?: number | undefined
  /** Of a granted or renewed lease. Absent: refused, or without an answer. */
  token?: number | undefined
}

export interface LeaseHistoryOptions {
  /** By how much the store's clock may be too fast or too slow, as a share of one. Default 0. */
  readonly drift?: number | undefined
  /** The unit in which the store's clock counts, in milliseconds: a lease may end by that much too early. Default 0. */
  readonly resolutionMs?: number | undefined
  /** How long after its end a call may arrive once more, in milliseconds. Default 0. */
  readonly strayMs?: number | undefined
  /** The store's clock jumps, so only the order of the tokens is guaranteed. Default false. */
  readonly jumps?: boolean | undefined
}

/** One granted lease, and the bounds of its life. */
interface GrantedLease {
  readonly resource: string
  readonly id: string
  readonly by: string
  readonly token: number
  readonly share: number
  /** The grant took effect between these two. */
  readonly earliest: number
  readonly latest: number
  /** It kept its place at least until then, and had ended by `over`. */
  readonly liveUntil: number
  readonly over: number
}

export function leaseViolations(
  history: readonly LeaseOperation[],
  options: LeaseHistoryOptions = {},
): string[] {
  const found: string[] = []
  for (const [, operations] of Map.groupBy(history, ({ resource }) => resource)) {
    const leases = leasesOf(operations, options)
    found.push(...tokensOfTwo(operations), ...fallingTokens(leases))
    if (!options.jumps) found.push(...misfits(leases), ...revivals(operations, leases))
  }
  return found
}

/** In the order of their tokens. */
function leasesOf(operations: readonly LeaseOperation[], options: LeaseHistoryOptions): GrantedLease[] {
  const isRefused = ({ kind, end, token }: LeaseOperation) =>
    (kind === 'acquire' || kind === 'renew') && end < Infinity && token === undefined
  const byId = Map.groupBy(
    operations.filter((operation) => !isRefused(operation)),
    ({ id }) => id,
  )
  const forced = operations.filter(({ kind }) => kind === 'force')
  const grants = operations.filter(({ kind, token }) => kind === 'acquire' && token !== undefined)
  const byToken = Map.groupBy(grants, ({ token }) => token)
  return [...byToken.values()]
    .map((same) => leaseOf(same, byId.get(same[0]?.id ?? '') ?? [], forced, options))
    .sort((a, b) => a.token - b.token)
}

function leaseOf(
  grants: readonly LeaseOperation[],
  ofId: readonly LeaseOperation[],
  forced: readonly LeaseOperation[],
  { drift = 0, resolutionMs = 0, strayMs = 0 }: LeaseHistoryOptions,
): GrantedLease {
  const shortest = (span: number) => Math.max(0, span - resolutionMs) / (1 + drift)
  const longest = (span: number) => span / (1 - drift)
  const { resource, id, by, token = 0, share = 1, atLeast = 0, lockDelay = 0 } = grants[0] as LeaseOperation
  const latest = Math.min(...grants.map(({ end }) => end))
  // An earlier request of the same acquisition, whose answer was lost, may have been the one that was granted.
  const asked = ofId.filter((one) => one.kind === 'acquire' && (one.token ?? token) === token)
  const earliest = Math.min(...asked.map(({ start }) => start))
  const renewals = ofId.filter(({ kind }) => kind === 'renew')
  const extensions = [...grants, ...renewals.filter((renewal) => renewal.token === token)]
  const releases = ofId.filter(({ kind }) => kind === 'release')
  const released = Math.min(...releases.map(({ start }) => start))
  const expiry = Math.max(...extensions.map(({ start, ttl = 0 }) => start + shortest(ttl)))
  const takenAway = forced.filter(
    (force) => force.id !== id && force.end >= earliest && (force.token ?? token) === token,
  )
  // Requests without an answer may have extended it as well.
  const possible = ofId.filter(({ kind }) => kind === 'acquire' || kind === 'renew')
  const lastExpiry = Math.max(...possible.map((one) => one.end + strayMs + longest(one.ttl ?? 0)))
  // A release that arrives before the expiry cancels `lockDelay`. By the store's clock that may be after `expiry`, up to
  // `lastExpiry`: a release in between proves neither an end before `expiry` nor a delay after it.
  const end = released > lastExpiry ? expiry + lockDelay / (1 + drift) : Math.min(released, expiry)
  const acknowledged = releases.filter(({ start }) => start > latest).map((release) => release.end)
  return {
    resource,
    id,
    by,
    token,
    share,
    earliest,
    latest,
    liveUntil: Math.min(...takenAway.map(({ start }) => start), Math.max(end, earliest + shortest(atLeast))),
    over: Math.min(lastExpiry, ...acknowledged),
  }
}

function tokensOfTwo(operations: readonly LeaseOperation[]): string[] {
  const granted = operations.filter(({ token, kind }) => kind === 'acquire' && token !== undefined)
  return [...Map.groupBy(granted, ({ token }) => token)].flatMap(([token, same]) => {
    const holders = new Set(same.map(({ id, by }) => `${by} (${id})`))
    return holders.size > 1
      ? [`token ${token} of ${same[0]?.resource} was given to ${[...holders].join(' and ')}`]
      : []
  })
}

/** A grant that had ended before another one began has the lower token. */
function fallingTokens(leases: readonly GrantedLease[]): string[] {
  const found: string[] = []
  for (const [at, lease] of leases.entries())
    for (const higher of leases.slice(at + 1))
      if (higher.latest < lease.earliest)
        found.push(`${name(lease)} began after ${name(higher)} was granted, and its token is lower`)
  return found
}

/** With each grant, no more leases are live or kept than each of them allows. */
function misfits(leases: readonly GrantedLease[]): string[] {
  const found: string[] = []
  for (const [at, lease] of leases.entries()) {
    const beside = leases
      .slice(0, at)
      .filter(({ id, liveUntil }) => id !== lease.id && liveUntil > lease.latest)
    const limit = Math.min(lease.share, ...beside.map(({ share }) => share))
    if (beside.length < limit) continue
    const others = beside.map((other) => `${name(other)}, which lasted until ${ms(other.liveUntil)}`)
    found.push(`${name(lease)} was granted by ${ms(lease.latest)} beside ${others.join(' and ')}`)
  }
  return found
}

/** What is over stays over. */
function revivals(operations: readonly LeaseOperation[], leases: readonly GrantedLease[]): string[] {
  return operations.flatMap(({ kind, token, start }) => {
    const lease = kind === 'renew' && leases.find((other) => other.token === token)
    if (!lease || start <= lease.over) return []
    return [`${name(lease)} was over at ${ms(lease.over)}, and was renewed at ${ms(start)}`]
  })
}

function name({ resource, by, token }: GrantedLease): string {
  return `${by}'s lease of ${resource} with token ${token}`
}

function ms(time: number): string {
  return `${Number(time.toFixed(3))} ms`
}
