/** In a bundle for pages, in place of `suggest.ts`: a page does not carry the search for the nearest name. */
export function suggest(_name: string, known: readonly string[]): string {
  return `expected one of ${known.join(', ')}`
}

export function hintFor(): string {
  return ''
}
