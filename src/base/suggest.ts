/** What to write instead of an unknown name: the nearest known one, or one of all if none is near. */
export function suggest(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  return near ? `did you mean \`${near}\`?` : `expected one of ${known.join(', ')}`
}

/** The known name with most of its letters in this one. A letter that is missing here counts twice. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const score = (other: string) =>
    3 * [...other].filter((letter) => name.includes(letter)).length - 2 * other.length
  return known.filter((other) => score(other) > 0).sort((a, b) => score(b) - score(a))[0]
}
