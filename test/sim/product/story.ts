import type { Referee } from '../referee.ts'

/** What is told, counted and judged while a run goes on. */
export class Story {
  readonly #referee: Referee

  constructor(referee: Referee) {
    this.#referee = referee
  }

  tell(who: string, what: () => string): void {
    this.#referee.note(who, what)
  }

  violate(what: string): void {
    this.#referee.violate(what)
  }

  reach(name: string): void {
    this.#referee.coverage.hit(name)
  }
}
