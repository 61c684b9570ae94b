/** In a bundle for pages, in place of `load-rare-methods.ts`: the methods are loaded when one of them is used. */
export function loadRareMethods(): Promise<typeof import('./rare-methods.ts')> {
  return import('./rare-methods.ts')
}
