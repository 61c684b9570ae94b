/** In a bundle for pages, in place of `load-rare-parts.ts`: they are loaded for `query`, and for very long names. */
export function loadRareParts(): Promise<typeof import('./rare-parts.ts')> {
  return import('./rare-parts.ts')
}
