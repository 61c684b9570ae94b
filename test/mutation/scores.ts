/** The scores of the last whole run of each part, as docs/verification.md shows them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PARTS, type PartName } from './parts.ts'

export interface Score {
  readonly part: PartName
  /** Of the run. */
  readonly on: string
  /** Changes that a test noticed, and all that make a difference. */
  readonly noticed: number
  readonly all: number
  /** Changes that are known to make no difference. */
  readonly equivalent: number
}

const FILE = join(import.meta.dirname, 'scores.json')

export const SCORES: readonly Score[] = JSON.parse(readFileSync(FILE, 'utf8'))

export function keepScore(score: Score): void {
  const scores = JSON.parse(readFileSync(FILE, 'utf8')) as Score[]
  const parts = Object.keys(PARTS)
  const kept = [...scores.filter(({ part }) => part !== score.part), score]
  kept.sort((a, b) => parts.indexOf(a.part) - parts.indexOf(b.part))
  writeFileSync(FILE, `${JSON.stringify(kept, null, 2)}\n`)
}

/** A part without a score was not run. */
export function scoreTable(scores: readonly Score[]): string {
  const rows = Object.entries(PARTS).map(([name, { sources, goal }]) => {
    const files = sources.map((pattern) => `\`${pattern.replace('!', 'not ')}\``).join(', ')
    const score = scores.find(({ part }) => part === name)
    const shown = score
      ? `${percent(score)} | ${score.noticed} of ${score.all} | ${score.equivalent} | ${score.on}`
      : 'not run | | |'
    return `| ${name} | ${files} | ${goal} % | ${shown} |`
  })
  return [
    '| part | files of `src` | goal | score | noticed | no difference | run on |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

/** Rounded down: 89.96 % is not 90 %. */
export function percent({ noticed, all }: Pick<Score, 'noticed' | 'all'>): string {
  return `${(Math.floor((noticed * 1000) / Math.max(1, all)) / 10).toFixed(1)} %`
}
