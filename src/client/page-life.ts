export interface PageLife {
  /** The page is seen again, restored or thawed, or the network is back: what was true may be no more. */
  readonly onWake: () => void
  /** The page is left; it may come back from the back/forward cache. */
  readonly onLeave: () => void
}

/** Follows the life of the page, where there is one. Returns how to stop. */
export function followPage({ onWake, onLeave }: PageLife): () => void {
  if (typeof document === 'undefined') return () => {}
  const stop = new AbortController()
  const { signal } = stop
  const onVisible = () => document.visibilityState === 'visible' && onWake()
  document.addEventListener('visibilitychange', onVisible, { signal })
  document.addEventListener('resume', onWake, { signal })
  addEventListener('pageshow', onWake, { signal })
  addEventListener('online', onWake, { signal })
  addEventListener('pagehide', onLeave, { signal })
  return () => stop.abort()
}
