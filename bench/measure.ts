/** Contenders take turns in short rounds, so that a noisy machine is noisy for all of them alike. */
export interface Contender {
  readonly name: string
  /** One operation; its time is what is measured. */
  readonly run: () => unknown
}

export interface Rate {
  readonly name: string
  /** Operations per second, one for each round. */
  readonly rounds: readonly number[]
}

export async function compareRates(
  contenders: readonly Contender[],
  { rounds = 15, roundMs = 150, parallel = 1 } = {},
): Promise<Rate[]> {
  const rates = contenders.map(() => [] as number[])
  for (let round = -1; round < rounds; round++) {
    for (const [index, { run }] of contenders.entries()) {
      const perSecond = await runFor(roundMs, parallel, run)
      // The first round warms up.
      if (round >= 0) rates[index]?.push(perSecond)
    }
  }
  return contenders.map(({ name }, index) => ({ name, rounds: rates[index] ?? [] }))
}

async function runFor(ms: number, parallel: number, run: () => unknown): Promise<number> {
  const start = performance.now()
  let count = 0
  const lane = async () => {
    while (performance.now() - start < ms) {
      await run()
      count++
    }
  }
  await Promise.all(Array.from({ length: parallel }, lane))
  return (count * 1000) / (performance.now() - start)
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN
}

/** The tenth and the ninetieth percentile of the rounds. */
export function spreadOf(rounds: readonly number[], digits = 2): string {
  return [0.1, 0.9].map((q) => quantile(rounds, q).toFixed(digits)).join('–')
}

/** Each round is compared with that of the baseline beside it. */
export function rateTable(rates: readonly Rate[], baseline: string): string[][] {
  const base = rates.find((rate) => rate.name === baseline)?.rounds ?? []
  return [
    ['', 'ops/s', `× ${baseline}`, 'spread'],
    ...rates.map(({ name, rounds }) => {
      const ratios = rounds.map((perSecond, round) => perSecond / (base[round] ?? Number.NaN))
      return [name, quantile(rounds, 0.5).toFixed(0), quantile(ratios, 0.5).toFixed(2), spreadOf(ratios)]
    }),
  ]
}

let isJson = false

/** The first row is the head. */
export interface Table {
  readonly title: string
  readonly rows: readonly (readonly string[])[]
}

let printed: Table[] = []

/** The tables that were printed since the last call. */
export function takeTables(): readonly Table[] {
  const tables = printed
  printed = []
  return tables
}

/** From now on, `printTable` prints one line of JSON for each table. */
export function printJson(): void {
  isJson = true
}

/** A table on the terminal: the first row is its head, the first column is text, the others are figures. */
export function printTable(title: string, rows: Table['rows']): void {
  printed.push({ title, rows })
  if (isJson) {
    const [head = [], ...body] = rows
    const records = body.map((row) =>
      Object.fromEntries(row.map((cell, column) => [head[column] || 'name', cell])),
    )
    console.log(JSON.stringify({ title, rows: records }))
    return
  }
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[0] ?? 0)))
      .join('  ')
  console.log(`\n${title}`)
  for (const [index, row] of rows.entries()) {
    console.log(`  ${line(row)}`)
    if (index === 0) console.log(`  ${widths.map((width) => '─'.repeat(width)).join('──')}`)
  }
}
