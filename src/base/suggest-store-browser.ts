/** In a bundle for pages, in place of `suggest-store.ts`: the clients of databases do not run in a page. */
export function suggestStore(): string {
  return 'memoryStore()'
}
