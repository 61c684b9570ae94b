import type { WriteStream } from 'node:tty'

export type Report =
  | { readonly type: 'started'; readonly id: string; readonly attempt: number }
  | { readonly type: 'ran'; readonly id: string; readonly attempt: number }
  | { readonly type: 'skipped'; readonly id: string; readonly reason: string }
  | { readonly type: 'failed'; readonly id: string; readonly error: string }

interface WorkerRow {
  readonly pid: number
  ran: number
  skipped: number
  recovered: number
  state: string
}

/** Shows which worker ran which jobs: a live table on a terminal, plain lines elsewhere. */
export class Board {
  readonly #out: WriteStream
  readonly #jobs: number
  readonly #rows = new Map<string, WorkerRow>()
  #drawnLines = 0

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

  started(name: string, pid: number): void {
    this.#rows.set(name, { pid, ran: 0, skipped: 0, recovered: 0, state: 'starting' })
    this.#show(`${name} started (pid ${pid})`)
  }

  ended(name: string, how: string): void {
    const row = this.#rows.get(name)
    if (!row) return
    this.#show(`${name} ${how}`)
    row.state = how
    this.#draw()
  }

  report(name: string, report: Report): void {
    const row = this.#rows.get(name)
    if (!row) return
    const { id } = report
    switch (report.type) {
      case 'started':
        row.state = `runs ${id}`
        if (report.attempt > 1) this.#show(`${name} recovers ${id} (attempt ${report.attempt})`)
        break
      case 'ran':
        row.ran++
        if (report.attempt > 1) row.recovered++
        row.state = `ran ${id}`
        this.#show(`${name} ran ${id}`)
        break
      case 'skipped':
        row.skipped++
        this.#show(`${name} skipped ${id}: ${report.reason}`)
        break
      case 'failed':
        row.state = report.error
        this.#show(`${name} failed ${id}: ${report.error}`)
    }
    this.#draw()
  }

  #show(text: string): void {
    if (!this.#out.isTTY) this.#out.write(`${text}\n`)
  }

  #draw(): void {
    if (!this.#out.isTTY) return
    const cells = [...this.#rows].map(([name, { pid, ran, skipped, recovered, state }]) =>
      [name, pid, ran, skipped, recovered, state].map(String),
    )
    const rows = [['worker', 'pid', 'ran', 'skipped', 'recovered', 'now'], ...cells]
    const widths = (rows[0] ?? []).map((_, column) =>
      Math.max(...rows.map((row) => row[column]?.length ?? 0)),
    )
    const text = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    text.push('', `${this.ran} of ${this.#jobs} jobs`)
    if (this.#drawnLines > 0) this.#out.write(`\x1b[${this.#drawnLines}A`)
    // Long lines are cut, because a wrapped line would move the table up by one.
    for (const line of text) this.#out.write(`\x1b[2K${line.slice(0, (this.#out.columns || 80) - 1)}\n`)
    this.#drawnLines = text.length
  }

  #sum(column: 'ran' | 'recovered'): number {
    return [...this.#rows.values()].reduce((sum, row) => sum + row[column], 0)
  }
}
