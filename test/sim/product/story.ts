import type { Referee } from '../referee.ts'
import type { Coverage } from './coverage.ts'

/** What is told, counted and judged while a run goes on. */
export class Story {
  readonly coverage: Coverage
  readonly #referee: Referee

  constructor(referee: Referee, coverage: Coverage) {
    this.#referee = referee
    this.coverage = coverage
  }

  tell(who: string, what: () => string): void {
    this.#referee.note(who, what)
  }

  violate(what: string): void {
    this.#referee.violate(what)
  }

  reach(name: string): void {
    this.coverage.hit(name)
  }
}
