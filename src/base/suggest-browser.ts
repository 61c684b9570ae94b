/** In a bundle for pages and workers, in place of `suggest.ts`: they do not carry the search for the nearest name. */
export function suggest(_name: string, known: readonly string[]): string {
  return `expected one of ${known.join(', ')}`
}

export function hintFor(): string {
  return ''
}

export function misspelt(): string | undefined {
  return undefined
}
