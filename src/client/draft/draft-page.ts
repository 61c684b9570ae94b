/** Listens to the page, if there is one. Returns a function that ends this. */
export function followDraftPage(isUnsaved: () => boolean, onHidden: () => void): () => void {
  if (!globalThis.document) return () => {}
  const stop = new AbortController()
  const { signal } = stop
  window.addEventListener('beforeunload', (event) => isUnsaved() && event.preventDefault(), { signal })
  // Before the lock hears of it and is released: a waiter could get it before the save.
  window.addEventListener('pagehide', onHidden, { signal, capture: true })
  document.addEventListener('visibilitychange', () => document.hidden && onHidden(), { signal })
  return () => stop.abort()
}
