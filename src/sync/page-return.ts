/** Calls back when the page comes back from the back/forward cache, where it heard of nothing. */
export function onPageReturn(run: () => void): () => void {
  if (typeof addEventListener !== 'function') return () => {}
  const returned = (event: Event) => {
    if ((event as PageTransitionEvent).persisted) run()
  }
  addEventListener('pageshow', returned)
  return () => removeEventListener('pageshow', returned)
}
