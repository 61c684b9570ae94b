/** Calls when the page is hidden or goes away, which may be its last moment. Returns how to stop. */
export function onLeaving(run: () => void): () => void {
  if (typeof document === 'undefined') return () => {}
  const onVisibility = () => {
    if (document.visibilityState === 'hidden') run()
  }
  document.addEventListener('visibilitychange', onVisibility)
  addEventListener('pagehide', run)
  return () => {
    document.removeEventListener('visibilitychange', onVisibility)
    removeEventListener('pagehide', run)
  }
}
