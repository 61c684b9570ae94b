import { describe, expect, it } from 'vitest'
import { compile, docsSnippets, snippetsOf } from './snippets.ts'

// Every block has its own imports. What it takes from the reader's own program stands in `reader.ts`.
describe('the examples of the docs', () => {
  it('compile when they are pasted', async () => {
    await compile(docsSnippets())
  })

  it('are reported with page and line', async () => {
    const page = ['# Title', '', '```ts', "import { createLeases } from 'holdfast'", 'createLeases(1)', '```']
    const broken = compile(snippetsOf('docs/page.md', page.join('\n')))
    await expect(broken).rejects.toThrow('docs/page.md:5: error TS2345')
  })
})
