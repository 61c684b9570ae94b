import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'

const STATIC_IMPORT = /^(?:import|export)(?! type\b)[^'()]*?from '(\.[^']+)'/gm

/** The modules that are loaded with this one, whatever it does later. */
function loadedWith(path: string, found = new Set<string>()): Set<string> {
  if (found.has(path)) return found
  found.add(path)
  for (const [, specifier = ''] of readFileSync(join(root, path), 'utf8').matchAll(STATIC_IMPORT))
    loadedWith(relative(root, join(root, dirname(path), specifier)), found)
  return found
}

it('a start of holdfast run loads no part that only some of its options and stores need', () => {
  const loaded = [...loadedWith('src/cli/commands/run.ts')]
  expect(loaded).toContain('src/core/manager.ts')
  // The numbers of a part are a module without imports.
  const parts = /^src\/(once|server|client|telemetry|sync|stores|clients)\/(?!options\.ts)/
  expect(loaded.filter((path) => parts.test(path))).toEqual([])
})
