import { ANSWER_LIMIT_MS } from './options.ts'

/** How long callers wait for an answer. A connection that is silent for longer is given up. */
export class AnswerLimit {
  ms = ANSWER_LIMIT_MS

  /** Some callers wait longer than others, and they share connections, so the longest wait counts. */
  allow(ms: number | undefined): void {
    if (ms !== undefined && ms > this.ms) this.ms = ms
  }
}
