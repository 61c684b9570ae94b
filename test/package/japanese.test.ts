import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'

const textOf = (page: string) => readFileSync(join(root, page), 'utf8')

describe('the pages in Japanese', () => {
  it('there are the README and every path', () => {
    const paths = globSync('start/*.md', { cwd: join(root, 'docs') })
    expect(globSync('**/*.md', { cwd: join(root, 'docs/ja') }).toSorted()).toEqual(
      ['README.md', ...paths].toSorted(),
    )
  })

  // So they need not be run again.
  it.each(globSync('**/*.md', { cwd: join(root, 'docs/ja') }))(
    '%s has the programs of the page in English, with other comments',
    (page) => {
      const english = programsOf(textOf(page === 'README.md' ? page : `docs/${page}`))
      const japanese = programsOf(textOf(`docs/ja/${page}`))
      // The commands for those who work on the repository are only in English.
      expect(japanese).toEqual(english.slice(0, page === 'README.md' ? 2 : undefined))
      expect(japanese.length).toBeGreaterThan(0)
    },
  )
})

function programsOf(markdown: string): string[] {
  return Array.from(markdown.matchAll(/^```.*\n[\s\S]*?^```$/gm), ([block]) =>
    block.replace(/ +(?:\/\/|#) .*$/gm, ''),
  )
}
