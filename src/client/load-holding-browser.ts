/** In a bundle for pages, in place of `load-holding.ts`: a page shows who edits before it has loaded the rest. */
export function loadHolding(): Promise<typeof import('./holding.ts')> {
  return import('./holding.ts')
}
