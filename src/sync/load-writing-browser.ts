/** In a bundle for pages, in place of `load-writing.ts`: pages that only read never load what a write needs. */
export function loadWriting(): Promise<typeof import('./writing.ts')> {
  return import('./writing.ts')
}
