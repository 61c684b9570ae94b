/**
 * Properties of `fast-check`, for all tests. An ordinary run uses the same seed every time, after it has replayed what
 * was found before (`regressions.json`). `npm run test:explore` uses new seeds, and notes what it finds.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import fc from 'fast-check'
import { expect } from 'vitest'
import { REGRESSIONS_FILE, type Regression } from './regressions.ts'

const FIXED_SEED = 1
const ROOT = join(import.meta.dirname, '..')

type Parameters = Pick<fc.Parameters<unknown>, 'numRuns' | 'endOnFailure'>

/** Throws, or rejects, with the smallest counterexample that was found. */
export function checkProperty<Values>(
  property: fc.IAsyncProperty<Values>,
  parameters?: Parameters,
): Promise<void>
export function checkProperty<Values>(property: fc.IProperty<Values>, parameters?: Parameters): void
export function checkProperty(
  property: fc.IRawProperty<unknown>,
  parameters: Parameters = {},
): Promise<void> | void {
  const name = nameOfProperty()
  const { HOLDFAST_EXPLORE_SEED: seed = FIXED_SEED } = process.env
  const all = [...regressionsOf(name), { seed: Number(seed) }].map(
    (some): fc.Parameters<unknown> => ({ ...parameters, ...some, reporter: reporterOf(name) }),
  )
  if (property.isAsync()) return inTurn(property as fc.IAsyncProperty<unknown>, all)
  for (const one of all) fc.assert(property as fc.IProperty<unknown>, one)
}

async function inTurn(property: fc.IAsyncProperty<unknown>, all: fc.Parameters<unknown>[]): Promise<void> {
  for (const one of all) await fc.assert(property, one)
}

const counts = new Map<string, number>()

function nameOfProperty(): string {
  const { testPath = '', currentTestName = '' } = expect.getState()
  const test = `${relative(ROOT, testPath).replaceAll('\\', '/')} > ${currentTestName}`
  const count = (counts.get(test) ?? 0) + 1
  counts.set(test, count)
  return count === 1 ? test : `${test} (${count})`
}

function regressionsOf(name: string): Pick<Regression, 'seed' | 'path'>[] {
  const { HOLDFAST_REGRESSIONS: file = REGRESSIONS_FILE } = process.env
  const all: Regression[] = JSON.parse(readFileSync(file, 'utf8'))
  return all.filter(({ property }) => property === name).map(({ seed, path }) => ({ seed, path }))
}

function reporterOf(property: string): (details: fc.RunDetails<unknown>) => void {
  return (details) => {
    const { failed, seed, counterexamplePath: path, errorInstance } = details
    if (!failed) return
    const { HOLDFAST_EXPLORE_FOUND: directory } = process.env
    // Without a path nothing has run that could be replayed.
    if (directory && path) {
      const found: Regression = { property, seed, path }
      writeFileSync(join(directory, `${randomUUID()}.json`), JSON.stringify(found))
    }
    throw new Error(`${property}\n${fc.defaultReportMessage(details)}`, { cause: errorInstance })
  }
}
