import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { manifest } from './manifest.ts'

const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: root })]
/** npm packs these too, whatever `files` says. */
const packed = [...manifest.files, 'README.md', 'LICENSE']

it.each(pages)('the links of %s lead to what is in the package', (page) => {
  const text = readFileSync(join(root, page), 'utf8')
  const links = [...text.matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)].map(([, link = '']) =>
    relative(root, join(root, dirname(page), link)),
  )
  const dead = links.filter((link) => {
    const isPacked = packed.some((file) => link === file || link.startsWith(`${file}/`))
    return !isPacked || !existsSync(join(root, link))
  })
  expect(dead).toEqual([])
})
