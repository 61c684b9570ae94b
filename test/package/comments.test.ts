import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'

const PATHS = execFileSync('git', ['ls-files', '-z', 'src', 'web', 'test', 'bench', 'scripts'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\0')
  .filter((path) => path !== '')
const NAMES = new Set(PATHS.map((path) => basename(path)))

describe('comments', () => {
  it('a comment of the source names only files that exist', () => {
    const sources = PATHS.filter((path) => /^src\/.*\.tsx?$/.test(path))
    expect(sources.length).toBeGreaterThan(800)
    expect(sources.flatMap((path) => missingIn(readFileSync(join(root, path), 'utf8'), path))).toEqual([])
  })

  it.each([
    ['/** See `gone.ts`. */', 'src/a.ts:1: gone.ts'],
    ["call()\n// As in 'old/place.ts'.", 'src/a.ts:2: place.ts'],
    ["select 1;\n  -- As 'f' of 'gone-too.ts'.", 'src/a.ts:2: gone-too.ts'],
  ])('the comment in %j is found to name a file that does not exist', (text, found) => {
    expect(missingIn(text, 'src/a.ts')).toEqual([found])
  })

  it.each(['/** See `clock.ts`. */', "import './gone.ts'", '/** Files such as `*.test.ts`. */'])(
    'the text %j is accepted',
    (text) => {
      expect(missingIn(text, 'src/a.ts')).toEqual([])
    },
  )
})

function missingIn(text: string, path: string): string[] {
  return text.split('\n').flatMap((line, n) => {
    if (!/^\s*(\*|\/\/|--)|\/\*\*/.test(line)) return []
    const named = Array.from(line.matchAll(/[`']([\w./-]+\.tsx?)[`']/g), ([, name = '']) => basename(name))
    return named.filter((name) => !NAMES.has(name)).map((name) => `${path}:${n + 1}: ${name}`)
  })
}
