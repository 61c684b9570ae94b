/**
 * What happened to each word of a document, noted outside of what is judged: no word that was typed is lost or doubled, and
 * none that was removed comes back.
 *
 *     typed → given up → removed
 *     typed → removed
 *
 * - `typed`: it must be in the document once.
 * - `given up`: the person chose the other side of a conflict while others went on. The next check tells which it is.
 * - `removed`: by the person, and the server has confirmed it. It must never come back.
 */
export type Fate = 'typed' | 'given up' | 'removed'

export interface Findings {
  readonly saved: number
  readonly givenUp: number
  readonly lost: readonly string[]
  readonly doubled: readonly string[]
  readonly resurrected: readonly string[]
}

export class WordRecord {
  readonly #fates = new Map<string, Fate>()

  get size(): number {
    return this.#fates.size
  }

  /** A word that was never typed before. */
  next(letter: string): string {
    return `${letter}${this.#fates.size.toString(36)}`
  }

  note(fate: Fate, words: Iterable<string>): void {
    for (const word of words) this.#fates.set(word, fate)
  }

  count(fate: Fate): number {
    return [...this.#fates.values()].filter((found) => found === fate).length
  }

  /** How many of the words that must be there are not in this text. */
  missingIn(text: string): string[] {
    const found = new Set(wordsOf(text))
    return this.with('typed').filter((word) => !found.has(word))
  }

  /** Compares the record with the document. Nothing is under way any more, so every fate is settled now. */
  check(text: string): Findings {
    const words = wordsOf(text)
    const found = new Set(words)
    const givenUp = this.with('given up')
    const findings = {
      lost: this.missingIn(text),
      doubled: words.filter((word, index) => words.indexOf(word) !== index),
      resurrected: this.with('removed').filter((word) => found.has(word)),
    }
    const gone = givenUp.filter((word) => !found.has(word))
    this.note('removed', gone)
    this.note(
      'typed',
      givenUp.filter((word) => found.has(word)),
    )
    return { ...findings, saved: found.size, givenUp: gone.length }
  }

  /** The words with this fate. */
  with(fate: Fate): string[] {
    return [...this.#fates].filter(([, found]) => found === fate).map(([word]) => word)
  }
}

/** The words that a test has typed, in the order of the text. The names of the lines end in a colon. */
export function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '' && !word.endsWith(':'))
}
