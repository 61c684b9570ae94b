/** The tables of the last run of each benchmark, in `bench/results.json`: the pages of the docs are made from them. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Table } from '../measure.ts'

const FILE = join(import.meta.dirname, '../results.json')

export interface BenchResult {
  /** `2026-11-19`. */
  readonly day: string
  readonly tables: readonly Table[]
}

/** By the name of the benchmark. */
export type Results = Readonly<Record<string, BenchResult>>

export function readResults(): Results {
  return existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : {}
}

export function keepResult(name: string, tables: readonly Table[]): void {
  const day = new Date().toISOString().slice(0, 10)
  writeFileSync(FILE, `${JSON.stringify({ ...readResults(), [name]: { day, tables } }, null, 1)}\n`)
}

/** Which cell of which table: the first table and the first row that begin so. */
export interface Place {
  readonly bench: string
  readonly table: string
  readonly row: string
  readonly column: string
}

/** Throws if there is none. */
export function tableOf(results: Results, { bench, table }: Pick<Place, 'bench' | 'table'>): Table {
  const found = results[bench]?.tables.find(({ title }) => title.startsWith(table))
  if (!found) throw new Error(`${bench} has no table "${table}"`)
  return found
}

/** Throws if the table has no such cell: a page never shows a figure that was not measured. */
export function cellOf(results: Results, place: Place): string {
  const { bench, table, row, column } = place
  const [head = [], ...rows] = tableOf(results, place).rows
  const cell = rows.find(([name]) => name?.startsWith(row))?.[head.indexOf(column)]
  if (cell === undefined) throw new Error(`${bench} has no "${column}" of "${row}" in "${table}"`)
  return cell
}
