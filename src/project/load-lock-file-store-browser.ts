/** In a bundle for pages, in place of `load-lock-file-store.ts`: only browsers without Web Locks load the fallback. */
export function loadLockFileStore(): Promise<typeof import('./lock-file-store.ts')> {
  return import('./lock-file-store.ts')
}
