import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Input } from './target.ts'

/** Inputs that broke a target once. Every run feeds them first, and makes others from them. */
export interface Regression {
  readonly target: string
  /** What went wrong. */
  readonly about: string
  readonly input: Input
}

const all: readonly Regression[] = JSON.parse(
  readFileSync(join(import.meta.dirname, 'regressions.json'), 'utf8'),
)

export function regressionsOf(target: string): Input[] {
  return all.filter((regression) => regression.target === target).map(({ input }) => input)
}
