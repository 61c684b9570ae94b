/** Not `crypto.randomUUID`: content scripts on plain http pages have none. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-')
}
