import { isAnswered } from './api.ts'

/** How long one request waits at the server. Common proxies end requests after 30 or 60 s. */
const LONGEST_MS = 25_000
/** A connection that breaks by chance must not make a page ask all the time. */
const SHORTEST_MS = 2000
/** Of the time after which a proxy has ended a request. */
const SAFE_SHARE = 0.8

/** By the address of a server: what the proxies before it let pass, for all locks of the page. */
const known = new Map<string, number>()

export function longestWait(url: string): number {
  return known.get(url) ?? LONGEST_MS
}

/** A request that waited has failed. If a proxy has ended it, later requests wait for a shorter time. */
export function onFailedWait(url: string, error: unknown, lastedMs: number): void {
  const { status } = Object(Object(error).cause)
  const isCut = !isAnswered(error) && globalThis.navigator?.onLine !== false
  if (status !== 504 && !isCut) return
  known.set(url, Math.max(SHORTEST_MS, Math.min(longestWait(url), lastedMs * SAFE_SHARE)))
}
