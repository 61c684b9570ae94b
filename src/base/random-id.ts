/** Unique. Pages on plain http have no `crypto.randomUUID`. */
export function randomId(): string {
  return crypto.randomUUID?.() ?? crypto.getRandomValues(new Uint32Array(4)).join('-')
}
