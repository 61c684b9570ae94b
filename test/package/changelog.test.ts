import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'

it('the changelog says nothing twice', () => {
  const entries = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').match(/^- .*$/gm) ?? []
  const sentences = entries.flatMap((entry) => entry.slice(2).split(/(?<=[.!?])\s+/))
  const long = sentences.filter((sentence) => sentence.length > 40)
  expect(long.length).toBeGreaterThan(100)
  expect(long.filter((sentence, at) => long.indexOf(sentence) < at)).toEqual([])
})
