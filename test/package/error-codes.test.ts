import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'

/** docs/errors.md: every call may reject with these, and stores and servers with nothing else. */
const EVERY_CALL = ['invalid-argument', 'closed', 'store-unavailable', 'store-failed']
/** What else their sources name, and why no caller of a store or a server gets it. */
const EXCUSED: Readonly<Record<string, readonly string[]>> = {
  // The reason of a signal that the manager has given to the call.
  'src/stores/local/calls.ts': ['aborted'],
  'src/stores/local/store-calls.ts': ['aborted'],
  // Named on the page.
  'src/stores/file/lease-directory.ts': ['other-format'],
  // The page names it for guards, whose transactions these are.
  'src/clients/transaction.ts': ['outcome-unknown'],
}

describe('the codes of errors', () => {
  const sources = globSync('src/{stores,server,clients}/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] })
  const others = sources.flatMap((path) =>
    Array.from(
      readFileSync(join(root, path), 'utf8').matchAll(/new LeaseError\(\s*'([\w-]+)'/g),
      ([, code]) => code,
    )
      .filter((code = '') => !EVERY_CALL.includes(code))
      .map((code) => [path, code] as const),
  )

  it('a store and a server reject only with the codes that every call may reject with', () => {
    expect(sources.length).toBeGreaterThan(200)
    expect(others.filter(([path, code = '']) => !EXCUSED[path]?.includes(code))).toEqual([])
  })

  it('every excuse is needed', () => {
    const excused = Object.entries(EXCUSED).flatMap(([path, codes]) => codes.map((code) => `${path} ${code}`))
    expect(new Set(others.map((other) => other.join(' ')))).toEqual(new Set(excused))
  })
})
