import type { WriteStream } from 'node:tty'

export type Report =
  | { readonly type: 'started'; readonly id: string; readonly attempt: number }
  | { readonly type: 'ran'; readonly id: string; readonly attempt: number }
  | { readonly type: 'skipped'; readonly id: string; readonly reason: string }
  | { readonly type: 'failed'; readonly id: string; readonly error: string }

interface Line {
  readonly pid: number
  ran: number
  skipped: number
  recovered: number
  state: string
}

/** Who ran what: a live table on a terminal, plain lines elsewhere. */
export class Board {
  readonly #out: WriteStream
  readonly #jobs: number
  readonly #lines = new Map<string, Line>()
  #drawn = 0

  constructor(out: WriteStream, jobs: number) {
    this.#out = out
    this.#jobs = jobs
  }

  get ran(): number {
    return this.#sum('ran')
  }

  get recovered(): number {
    return this.#sum('recovered')
  }

  hired(name: string, pid: number): void {
    this.#lines.set(name, { pid, ran: 0, skipped: 0, recovered: 0, state: 'starting' })
    this.#show(`${name} started (pid ${pid})`)
  }

  left(name: string, how: string): void {
    const line = this.#lines.get(name)
    if (!line) return
    this.#show(`${name} ${how}`)
    line.state = how
    this.#draw()
  }

  report(name: string, report: Report): void {
    const line = this.#lines.get(name)
    if (!line) return
    const { id } = report
    switch (report.type) {
      case 'started':
        line.state = `runs ${id}`
        if (report.attempt > 1) this.#show(`${name} recovers ${id} (attempt ${report.attempt})`)
        break
      case 'ran':
        line.ran++
        if (report.attempt > 1) line.recovered++
        line.state = `ran ${id}`
        this.#show(`${name} ran ${id}`)
        break
      case 'skipped':
        line.skipped++
        this.#show(`${name} skipped ${id}: ${report.reason}`)
        break
      case 'failed':
        line.state = report.error
        this.#show(`${name} failed ${id}: ${report.error}`)
    }
    this.#draw()
  }

  #show(text: string): void {
    if (!this.#out.isTTY) this.#out.write(`${text}\n`)
  }

  #draw(): void {
    if (!this.#out.isTTY) return
    const cells = [...this.#lines].map(([name, { pid, ran, skipped, recovered, state }]) =>
      [name, pid, ran, skipped, recovered, state].map(String),
    )
    const rows = [['worker', 'pid', 'ran', 'skipped', 'recovered', 'now'], ...cells]
    const widths = (rows[0] ?? []).map((_, column) =>
      Math.max(...rows.map((row) => row[column]?.length ?? 0)),
    )
    const text = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    text.push('', `${this.ran} of ${this.#jobs} jobs`)
    if (this.#drawn > 0) this.#out.write(`\x1b[${this.#drawn}A`)
    // Each line is cut, not wrapped: the cursor goes up by lines.
    for (const line of text) this.#out.write(`\x1b[2K${line.slice(0, (this.#out.columns || 80) - 1)}\n`)
    this.#drawn = text.length
  }

  #sum(column: 'ran' | 'recovered'): number {
    return [...this.#lines.values()].reduce((sum, line) => sum + line[column], 0)
  }
}
