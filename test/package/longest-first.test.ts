import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { TestSpecification, Vitest } from 'vitest/node'
import { root } from '../../scripts/run-tool.ts'
import { LONGEST, LongestFirst } from '../longest-first.ts'

function specification(path: string, groupOrder = 1): TestSpecification {
  const project = { config: { root, sequence: { groupOrder } } }
  return { moduleId: join(root, path), project } as unknown as TestSpecification
}

async function order(...files: TestSpecification[]): Promise<string[]> {
  const sorted = await new LongestFirst({} as Vitest).sort(files)
  return sorted.map(({ moduleId }) => moduleId.slice(root.length + 1))
}

describe('the order of test files', () => {
  it('the order of test files names long files that exist', () => {
    expect(LONGEST.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  it('begins with the longest, and goes on by name, whatever the folder', async () => {
    const [first = '', second = ''] = LONGEST
    const files = ['test/a/b.test.ts', 'test/b/a.test.ts', second, first].map((path) => specification(path))
    expect(await order(...files)).toEqual([first, second, 'test/b/a.test.ts', 'test/a/b.test.ts'])
  })

  it('the order of test files keeps the order of the groups', async () => {
    const [first = ''] = LONGEST
    expect(await order(specification(first, 2), specification('src/a.test.ts', 1))).toEqual([
      'src/a.test.ts',
      first,
    ])
  })
})
