/** In a bundle for pages, in place of `load-local-queue.ts`: the stores of pages keep a queue. */
export function loadLocalQueue(): Promise<typeof import('./local-queue.ts')> {
  return import('./local-queue.ts')
}
