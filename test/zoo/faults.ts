/**
 * The zoo: faults of the product, each a change of one place of the sources, and what notices it. A fault whose text is
 * not in the sources any more, or that nothing notices, fails `zoo.test.ts`. `npm run zoo` looks for what notices it now.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Mutation } from '../sim/program.ts'
import type { WorldName } from '../sim/worlds.ts'

export interface Fault extends Mutation {
  readonly part: string
  /** What the product would do. */
  readonly name: string
  /** An earlier version did it: CHANGELOG names it as fixed. */
  readonly wasReal?: true
  readonly caughtBy: CaughtBy
}

export type CaughtBy =
  | { readonly test: string; readonly title: string }
  /** The first seed that shows it. */
  | { readonly world: WorldName; readonly seed: number }

const FILE = join(import.meta.dirname, 'faults.json')

export const FAULTS: readonly Fault[] = JSON.parse(readFileSync(FILE, 'utf8'))

export function saveFaults(faults: readonly Fault[]): void {
  writeFileSync(FILE, `${JSON.stringify(faults, null, 2)}\n`)
}

/** The table of docs/verification.md. */
export function faultTable(faults: readonly Fault[]): string {
  const rows = faults.map(({ part, name, wasReal, caughtBy }) => {
    const [what, after] =
      'test' in caughtBy
        ? [`${caughtBy.test}: ${caughtBy.title}`, '1 test']
        : [`the simulation of ${caughtBy.world}`, caughtBy.seed === 1 ? '1 seed' : `${caughtBy.seed} seeds`]
    return `| ${[part, name, wasReal ? 'yes' : '', what, after].map(cell).join(' | ')} |`
  })
  return ['| part | fault | was real | caught by | after |', '|---|---|---|---|---|', ...rows].join('\n')
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('`', '')
}
