/**
 * Numbers of saves that rise within a grant: also from one lock object of a page to the next one, and from a page to
 * its reload, which has the same grant if both have the same `clientId`. So they count up from the time at which the
 * lock was opened, and the number that is stored need not be read first. If the machine's clock was set back between
 * two pages, the server's refusal names the stored number, and the numbers continue after it.
 */
import type { Clock } from '../base/clock.ts'

/** The highest one of this page. */
let highest = 0

export interface SaveSequence {
  next(): number
  isLatest(sequence: number): boolean
  /** Whether this page has given the number to a save of this lock. */
  isOwn(sequence: number): boolean
  continueAfter(sequence: number): void
}

export function createSaveSequence(clock: Clock): SaveSequence {
  // In microseconds, so that two pages that start in the same millisecond differ.
  let first = Math.max(highest, Math.floor((clock.now() + clock.random()) * 1000))
  let latest = first
  highest = first
  return {
    next() {
      highest = Math.max(highest, first) + 1
      latest = highest
      return latest
    },
    isLatest: (sequence) => sequence === latest,
    isOwn: (sequence) => sequence > first && sequence <= latest,
    continueAfter(sequence) {
      first = sequence
    },
  }
}
