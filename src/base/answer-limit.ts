import { CALL_TIMEOUT_MS } from './options.ts'

/**
 * The longest that a caller of a backend waits for an answer. A connection that is silent for longer is given up.
 * `answer-within.ts` says what the other limits of calls are for.
 */
export class AnswerLimit {
  ms = CALL_TIMEOUT_MS

  /** Some callers wait longer than others, and they share connections, so the longest wait counts. */
  allow(ms: number): void {
    if (ms > this.ms) this.ms = ms
  }
}
