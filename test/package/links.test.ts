import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'

const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: root })]

/** The page of the package, and the site of the docs, take them as links to the repository. */
it.each(pages)('the links of %s lead to files of the repository', (page) => {
  const text = readFileSync(join(root, page), 'utf8')
  const links = [...text.matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)].map(([, link = '']) =>
    join(dirname(page), link),
  )
  expect(links.filter((link) => link.startsWith('..') || !existsSync(join(root, link)))).toEqual([])
})
