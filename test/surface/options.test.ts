import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { readSurface, usesOf } from './declarations/surface.ts'
import { PAGES } from './pages.ts'

const surface = readSurface(join(inject('consumer'), 'node_modules/holdfast'))

describe('the pages of the docs', () => {
  it('the pages of the docs exist for every entry of the package, and for no other', () => {
    expect(Object.keys(PAGES).sort()).toEqual(surface.entries.map(({ specifier }) => specifier).sort())
  })

  it('name every option of the declarations', () => {
    const missing = new Map<string, string>()
    const named = new Set<string>()
    for (const entry of surface.entries) {
      const pages = PAGES[entry.specifier] ?? []
      const words = new Set(pages.flatMap(wordsInCode))
      for (const option of usesOf(entry, surface).options) {
        if (words.has(option.slice(option.lastIndexOf('.') + 1))) named.add(option)
        else missing.set(option, pages.join(', '))
      }
    }
    expect(named.size).toBeGreaterThan(0)
    // A type that several entries use is described on the pages of one of them.
    const nowhere = [...missing].filter(([option]) => !named.has(option))
    expect(nowhere.map(([option, pages]) => `${option} is not in \`code\` on ${pages}`)).toEqual([])
  })
})

/** The words in inline code. A word in a block alone is not explained. */
function wordsInCode(page: string): string[] {
  const text = readFileSync(join(root, 'docs', page), 'utf8').replace(/^( *)```[\s\S]*?^\1```/gm, '')
  return Array.from(text.matchAll(/`([^`\n]+)`/g), ([, code = '']) => code.match(/[\w$~]+/g) ?? []).flat()
}
