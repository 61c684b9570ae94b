import { isAnswered } from './api.ts'
import { LONGEST_REQUEST_WAIT_MS, SAFE_WAIT_PART, SHORTEST_REQUEST_WAIT_MS } from './rare-options.ts'

/** By the address of a server: what the proxies before it let pass, for all locks of the page. */
const known = new Map<string, number>()

export function longestWait(url: string): number {
  return known.get(url) ?? LONGEST_REQUEST_WAIT_MS
}

/** A request that waited has failed. If a proxy has ended it, later requests wait for a shorter time. */
export function onFailedWait(url: string, error: unknown, lastedMs: number): void {
  const { status } = Object(Object(error).cause)
  const isCut = !isAnswered(error) && globalThis.navigator?.onLine !== false
  if (status !== 504 && !isCut) return
  known.set(url, Math.max(SHORTEST_REQUEST_WAIT_MS, Math.min(longestWait(url), lastedMs * SAFE_WAIT_PART)))
}
