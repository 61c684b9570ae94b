/** In a bundle for pages, in place of `load-writer.ts`: content scripts and pages that only read do not load the writer. */
export function loadWriter(): Promise<typeof import('./writer.ts')> {
  return import('./writer.ts')
}
