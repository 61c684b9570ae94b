/** What the tests noticed of the changes of a part, and what is known to make no difference. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MutantResult } from '@stryker-mutator/core'
import type { Part, PartName } from './parts.ts'
import { percent, type Score } from './scores.ts'

/** A change that makes no difference. It is known by the line, not by its number, so that it stays known. */
export interface Equivalent {
  readonly file: string
  /** The line in which the change begins. */
  readonly line: string
  /** What is replaced, and by what. Absent: every change of this line. */
  readonly from?: string
  readonly to?: string
  readonly reason: string
}

export interface Change {
  readonly file: string
  readonly number: number
  readonly line: string
  readonly from: string
  readonly to: string
  readonly status: MutantResult['status']
}

const LONGEST = 100
const EQUIVALENT: readonly Equivalent[] = JSON.parse(
  readFileSync(join(import.meta.dirname, 'equivalent.json'), 'utf8'),
)

/** The positions of Stryker count from one. */
export function changeOf(file: string, { location, replacement, status }: MutantResult): Change {
  const lines = readFileSync(file, 'utf8').split('\n')
  const { start, end } = location
  const taken = lines.slice(start.line - 1, end.line)
  const last = taken.length - 1
  taken[last] = taken[last]?.slice(0, end.column - 1) ?? ''
  taken[0] = taken[0]?.slice(start.column - 1) ?? ''
  return {
    file,
    number: start.line,
    line: lines[start.line - 1]?.trim() ?? '',
    from: short(taken.join('\n')),
    to: short(replacement),
    status,
  }
}

/** Prints what nobody notices. `isGood`: the part reaches its goal, and the list of equivalent changes is right. */
export function report(
  name: PartName,
  { goal }: Part,
  changes: readonly Change[],
  { isWhole }: { readonly isWhole: boolean },
): { readonly isGood: boolean; readonly score: Score } {
  const used = new Set<Equivalent>()
  const files = new Map<string, { noticed: number; all: number }>()
  let known = 0
  for (const change of changes) {
    const { file, number, from, to, status } = change
    if (['Ignored', 'CompileError'].includes(status)) continue
    const isNoticed = status === 'Killed' || status === 'Timeout'
    const equivalent = isNoticed ? undefined : EQUIVALENT.find((one) => isSame(one, change))
    if (equivalent) {
      used.add(equivalent)
      known++
      continue
    }
    const count = files.get(file) ?? { noticed: 0, all: 0 }
    count.all++
    if (isNoticed) count.noticed++
    else
      console.log(
        `${file}:${number} ${status === 'NoCoverage' ? 'no test' : 'not noticed'}\n  - ${from}\n  + ${to}`,
      )
    files.set(file, count)
  }
  for (const [file, count] of files) console.log(`${file}: ${scoreOf(count)}`)
  const total = { noticed: 0, all: 0 }
  for (const { noticed, all } of files.values()) {
    total.noticed += noticed
    total.all += all
  }
  console.log(`${name}: ${scoreOf(total)}, goal ${goal} %; ${known} more make no difference`)
  const ofPart = new Set(changes.map(({ file }) => file))
  const stale = EQUIVALENT.filter((one) => isWhole && ofPart.has(one.file) && !used.has(one))
  for (const { file, line, to = '' } of stale)
    console.log(`equivalent.json: this change is noticed, or is gone: ${file}: ${line} ${to}`)
  const on = new Date().toISOString().slice(0, 10)
  return {
    isGood: total.noticed * 100 >= total.all * goal && stale.length === 0,
    score: { part: name, on, ...total, equivalent: known },
  }
}

function isSame(one: Equivalent, { file, line, from, to }: Change): boolean {
  return one.file === file && one.line === line && (one.from ?? from) === from && (one.to ?? to) === to
}

function scoreOf({ noticed, all }: { readonly noticed: number; readonly all: number }): string {
  return `${percent({ noticed, all })} (${noticed} of ${all})`
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line
}
