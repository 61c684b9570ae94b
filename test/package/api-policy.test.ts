import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import * as storeKit from '../../src/store-kit/index.ts'

const textOf = (file: string) =>
  readFileSync(join(root, file), 'utf8').replace(/\n \*/g, '').replace(/\s+/g, ' ')

/** The entries outside of semantic versioning: each says so where an author looks. */
const YOUNG = [
  ['holdfast/store-kit', 'src/store-kit/index.ts', 'docs/stores/your-own.md'],
  ['holdfast/testing/node', 'src/testing/node/index.ts', 'docs/testing.md'],
  ['holdfast/telemetry/node', 'src/telemetry/index-node.ts', 'docs/telemetry.md'],
] as const

describe('the promise about versions', () => {
  it.each(YOUNG)('%s says that it may change until 1.1', (entry, module, page) => {
    expect(textOf(module)).toContain('Until version 1.1 this entry may change in a minor version.')
    expect(textOf(page)).toContain(`Until version 1.1, \`${entry}\` may change in a minor version`)
    expect(textOf('docs/install.md')).toMatch(
      new RegExp(`may still change in a minor version, until 1\\.1:[^.]*\`${entry}\``),
    )
  })

  it('the store kit has no more than what the two stores of its page need', () => {
    const page = textOf('docs/stores/your-own.md')
    const code = Array.from(page.matchAll(/```ts file: (.*?)```/g), ([, block]) => block).join()
    expect(Object.keys(storeKit).filter((name) => !new RegExp(`\\b${name}\\b`).test(code))).toEqual([])
  })
})
