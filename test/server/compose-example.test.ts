import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { flagOf, SETTINGS, variableOf } from '../../src/configuration/settings.ts'

const files = [...globSync('examples/compose/*', { cwd: root }), 'docs/laravel.md']

it.each(files)('%s names only settings that exist', (file) => {
  const known = Object.keys(SETTINGS).map((name) => variableOf(flagOf(name)))
  const named = readFileSync(join(root, file), 'utf8').match(/\bHOLDFAST_\w+/g) ?? []
  expect(named.filter((name) => !known.includes(name))).toEqual([])
})
