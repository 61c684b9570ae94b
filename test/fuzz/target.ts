import { LeaseError } from '../../src/base/errors.ts'

/** What a target is given: texts by their role, such as a body and a path. Each is mutated by itself. */
export type Input = Readonly<Record<string, string>>

/** `unsendable`: the platform does not let it through, such as a line break in a header. */
export type Verdict = 'accepted' | 'refused' | 'unsendable'

/** A part that parses what others have written. */
export interface Target {
  /** Valid inputs, from which the others are made. */
  readonly corpus: readonly Input[]
  open(): Opened | Promise<Opened>
}

export interface Opened {
  /**
   * Throws, or rejects, for what must not happen: an error that is not documented, an accepted value of another type
   * than the declared one, or a part that no longer works.
   */
  feed(input: Input): Verdict | Promise<Verdict>
  close?(): PromiseLike<void>
}

/** `refused` for a documented error; every other error is passed on. */
export function refusalOf(error: unknown): Verdict {
  if (error instanceof LeaseError) return 'refused'
  throw error
}

export async function verdictOf(work: () => unknown): Promise<Verdict> {
  try {
    await work()
    return 'accepted'
  } catch (error) {
    return refusalOf(error)
  }
}

/** A target without a state. `read` throws a `LeaseError`, or returns `null` or `undefined`, for what it refuses. */
export function reading<T>(
  corpus: readonly string[],
  read: (text: string) => T | null | undefined,
  check: (accepted: T, text: string) => void,
): Target {
  const feed = ({ text = '' }: Input): Verdict => {
    let accepted: T | null | undefined
    try {
      accepted = read(text)
    } catch (error) {
      return refusalOf(error)
    }
    if (accepted === null || accepted === undefined) return 'refused'
    check(accepted, text)
    return 'accepted'
  }
  return { corpus: corpus.map((text) => ({ text })), open: () => ({ feed }) }
}
