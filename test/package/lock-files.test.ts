import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'

it.each([
  'package-lock.json',
  'bench/package-lock.json',
  'test/migrations/package-lock.json',
  'test/oldest-node/package-lock.json',
])('%s leaves it to each machine from where packages are loaded', (path) => {
  const { packages } = JSON.parse(readFileSync(join(root, path), 'utf8'))
  const fixed = Object.entries<{ resolved?: string }>(packages).filter(([, entry]) => entry.resolved)
  expect(fixed.map(([name]) => name)).toEqual([])
})
