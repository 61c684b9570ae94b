/** Not `crypto.randomUUID`, which pages on plain http do not have. */
export function randomId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-')
}
