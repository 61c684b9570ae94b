/** The options of a draft, their defaults and checks, and the numbers that it is tuned with. */
import { expectBoolean, expectMethods, expectOptions } from '../../base/arguments.ts'
import { type Clock, expectClock } from '../../base/clock.ts'
import { type Duration, expectDuration } from '../../base/duration.ts'
import { workerClock } from '../../worker-clock/index.ts'
import { type DraftCodec, textCodec } from './codecs.ts'

export interface DraftOptions<T> {
  /** What the content is. Default `textCodec`. */
  readonly codec?: DraftCodec<T> | undefined
  /** The pause after the last edit until the save. Default 600 ms. */
  readonly saveAfter?: Duration | undefined
  /** The longest time until a save, also for somebody who never stops typing. Default 2 s. */
  readonly saveWithin?: Duration | undefined
  /** Whether unsaved content is kept in the browser, for the time after a crash or a reload. Default true. */
  readonly keep?: boolean | undefined
  /** Default: a worker's. */
  readonly clock?: Clock | undefined
}

const SAVE_AFTER_MS = 600
const SAVE_WITHIN_MS = 2000

export interface CheckedDraftOptions<T> {
  readonly codec: DraftCodec<T>
  readonly keep: boolean
  readonly clock: Clock
  /** The pause after the last edit until the save. */
  readonly afterMs: number
  /** The longest time until a save. */
  readonly withinMs: number
}

export function checkDraftOptions<T>(options: DraftOptions<T>): CheckedDraftOptions<T> {
  expectOptions(options, { codec: 1, saveAfter: 1, saveWithin: 1, keep: 1, clock: 1 })
  const { codec = textCodec as unknown as DraftCodec<T>, keep = true, clock = workerClock() } = options
  expectMethods('codec', codec, 'a DraftCodec', 'encode', 'decode')
  expectBoolean('keep', keep)
  expectClock('clock', clock)
  const afterMs = expectDuration('saveAfter', options.saveAfter ?? SAVE_AFTER_MS, 0)
  const withinMs = expectDuration('saveWithin', options.saveWithin ?? SAVE_WITHIN_MS, 0)
  return { codec, keep, clock, afterMs, withinMs }
}

/** Browsers may take long to open their storage, or never do it. The user need not wait for that. */
export const CLAIM_MS = 2000
/** How often `flush` saves again, because the user has typed during a save. */
export const MOST_SAVES = 5
/** Up to this many characters are written into the browser with every key, more of them after a pause. */
export const SHORT_CHARACTERS = 20_000
export const WRITE_AFTER_MS = 250

/** Two texts that differ in more places than this are not worth the time: they count as one difference. */
export const MOST_EDITS = 1000
/** Two changes in one line are separate if at least this many unchanged words are between them. */
export const WORDS_APART = 2
/** A side that has replaced more of the words has written another text, whose words must not be mixed with others. */
export const MOST_REPLACED = 0.5
