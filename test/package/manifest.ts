import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/run-tool.ts'

interface Manifest {
  readonly homepage: string
  readonly repository: { readonly type: string; readonly url: string }
  readonly bugs: string
  readonly engines: { readonly node: string }
  readonly files: readonly string[]
  readonly bin: { readonly holdfast: string }
  /** Modules that a bundler for pages replaces, and those that it takes instead. */
  readonly browser: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | Entry>>
  /** There are none: what the code needs is bundled. */
  readonly dependencies?: never
  readonly peerDependencies: Readonly<Record<string, string>>
}

interface Entry extends Files {
  /** Absent for style sheets. */
  readonly require?: Files
}

interface Files {
  readonly types: string
  readonly default: string
}

export const manifest: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Of an entry: its modules and their declarations; of a file, itself. */
export function filesOf(entry: string | Entry): string[] {
  if (typeof entry === 'string') return [entry]
  const { require: common } = entry
  return [entry.types, entry.default, ...(common ? [common.types, common.default] : [])]
}
