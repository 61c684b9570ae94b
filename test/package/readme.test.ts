import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { manifest } from './manifest.ts'

const textOf = (page: string) => readFileSync(join(root, page), 'utf8')
const readme = textOf('README.md')
/** `github.com/<owner>/holdfast`, until it has an owner. */
const repository = /github\.com\/(?:<owner>|[\w-]+)\/holdfast/.exec(manifest.repository.url)?.[0] ?? ''

describe('the README on the page of the package', () => {
  it('the registry finds the files of relative links and pictures by the repository', () => {
    expect(manifest.repository).toEqual({ type: 'git', url: `git+https://${repository}.git` })
    expect(manifest.homepage).toBe(`https://${repository}#readme`)
    expect(manifest.bugs).toBe(`https://${repository}/issues`)
  })

  it('the address of the repository stands in package.json, and nowhere else', () => {
    const pages = globSync(['*.md', 'docs/**/*.md', 'site/*.{ts,md,json}'], { cwd: root })
    expect(pages.filter((page) => /github\.com\/[^/\s)]+\/holdfast/.test(textOf(page)))).toEqual([])
  })

  it('its other links are relative, to what `links.test.ts` finds in the package, or https', () => {
    const links = Array.from(readme.matchAll(/\]\(([^)\s]+)\)/g), ([, link = '']) => link)
    expect(links.length).toBeGreaterThan(20)
    expect(links.filter((link) => /^(?:\/|\w+:(?!\/\/)|http:)/.test(link))).toEqual([])
  })

  it('it is read in two minutes', () => {
    expect(Buffer.byteLength(readme)).toBeLessThan(6_500)
  })

  it.each([
    ['README.md', '## Why not redlock?'],
    ['docs/ja/README.md', '## redlock との違い'],
  ])('the figures beside redlock are those of the comparison, in %s', (page, title) => {
    const text = textOf(page)
    const start = text.indexOf(title)
    const table = text.slice(start, text.indexOf('\n## ', start))
    const figures = table.match(/\d[\d.]* (?:s|ms)\b/g) ?? []
    expect(figures.length).toBeGreaterThan(3)
    const measured = textOf('docs/comparison.md')
    expect(figures.filter((figure) => !measured.includes(figure))).toEqual([])
  })
})
