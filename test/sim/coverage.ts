/** How often each fault, and each branch of a state machine, was reached. */
export class Coverage {
  readonly counts = new Map<string, number>()

  hit(name: string, times = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + times)
  }

  add(other: ReadonlyMap<string, number>): void {
    for (const [name, times] of other) this.hit(name, times)
  }

  missing(names: readonly string[]): string[] {
    return names.filter((name) => !this.counts.has(name))
  }
}
