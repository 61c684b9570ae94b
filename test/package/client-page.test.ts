import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import type { DocumentLockPhase } from '../../src/client/index.ts'
import { blocksOfPage } from '../docs/blocks.ts'

const page = readFileSync(join(root, 'docs/client.md'), 'utf8')
const [, section = ''] = page.split('## The state\n')
const PHASES = Object.keys({
  idle: 1,
  acquiring: 1,
  waiting: 1,
  held: 1,
  troubled: 1,
  'signed-out': 1,
  'read-only': 1,
  lost: 1,
  error: 1,
} satisfies Record<DocumentLockPhase, 1>) as DocumentLockPhase[]

describe('the page of the client', () => {
  it('the page of the client draws every phase', () => {
    const [, drawing = ''] = section.split('```')
    for (const phase of PHASES) expect(drawing).toMatch(new RegExp(`(?<![\\w-])${phase}(?![\\w-])`))
  })

  it('the page of the client has a component that needs no lint exceptions', async () => {
    const [component] = blocksOfPage('docs/client.md').filter(({ language }) => language === 'tsx')
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-lint-'))
    await writeFile(join(directory, 'biome.json'), '{}')
    await writeFile(join(directory, 'editor.tsx'), component?.code ?? '')
    const rules = ['useExhaustiveDependencies', 'useHookAtTopLevel'].map(
      (rule) => `--only=correctness/${rule}`,
    )
    const biome = join(root, 'node_modules/.bin/biome')
    const linted = spawnSync(biome, ['lint', ...rules, 'editor.tsx'], { cwd: directory, encoding: 'utf8' })
    await rm(directory, { recursive: true })
    expect(linted.status, linted.stderr).toBe(0)
  })
})
