import { globSync } from 'node:fs'
import { it } from 'vitest'
import { root } from '../../../scripts/run-tool.ts'
import { RUN_OPTIONS } from '../../../src/cli/run/options.ts'
import { variableOf } from '../../../src/configuration/settings.ts'
import { plain } from './compare-table.ts'
import { sourceOf } from './declarations.ts'
import { prometheusFigures } from './figure-checks.ts'
import { docsTables } from './markdown-table.ts'

/** Names of other programs and runtimes, and placeholders. */
const FOREIGN =
  'sslmode STOP serverFactory vacuum shm pg_dump BGSAVE etcdctl KV_holdfast ROOM requestIP remoteAddr process_ nodejs_'

/** The mistakes are compared word by word, and the names of other libraries are not ours. */
const LEFT_OUT = /^docs\/(errors\.md#(?!Codes)|coming-from|migrations\/|idempotency\.md#Beside)/

const SOURCES = [
  'src/**/*.{ts,tsx,css}',
  'package.json',
  'bench/**/*.ts',
  'examples/**/*.{ts,tsx,json,yaml,yml}',
]

it('every name in a table of the docs is in the source, so none is misspelt or gone', () => {
  const files = globSync(SOURCES, { cwd: root, exclude: ['**/*.test.ts', '**/node_modules/**'] })
  const texts = [...files.map(sourceOf), FOREIGN, ...computedNames()]
  const known = new Set(texts.flatMap((text) => text.match(/[A-Za-z]\w*/g) ?? []))
  const mistakes = docsTables()
    .filter(({ name }) => !LEFT_OUT.test(name))
    .flatMap(({ name, rows }) =>
      rows.flatMap((cells) =>
        namesIn(cells)
          .filter((word) => !known.has(word))
          .map(
            (word) =>
              `${name}: the row of ${plain(cells[0] ?? '')} mentions ${word}, which is not in the source`,
          ),
      ),
    )
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'))
})

function namesIn(cells: readonly string[]): string[] {
  return cells
    .flatMap((cell) => cell.match(/`[^`]+`/g) ?? [])
    .flatMap((span) => span.match(/[A-Za-z]\w{2,}/g) ?? [])
}

/** Names that the source puts together. */
function computedNames(): string[] {
  return [...Object.keys(RUN_OPTIONS).map(variableOf), ...prometheusFigures().map(([name]) => name)]
}
