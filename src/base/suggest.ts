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

/** The known name that this one misspells by one letter: missing, added, another, or swapped with the next. */
export function misspelt(name: string, known: readonly string[]): string | undefined {
  return known.includes(name) ? undefined : known.find((other) => differsByOneLetter(name, other))
}

function differsByOneLetter(a: string, b: string): boolean {
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  const isSame = (skipA: number, skipB: number) => a.slice(start + skipA) === b.slice(start + skipB)
  const isSwapped = a[start] === b[start + 1] && a[start + 1] === b[start]
  return isSame(1, 1) || isSame(1, 0) || isSame(0, 1) || (isSwapped && isSame(2, 2))
}
