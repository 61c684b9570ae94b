import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { manifest } from './manifest.ts'

const entries = Object.entries(manifest.exports).flatMap(([entry, target]) => {
  const [, path] = (typeof target !== 'string' && /dist\/(.*)\.js$/.exec(target.default)) || []
  return path === undefined ? [] : [{ entry, path }]
})

/** Every exported function, with the comment before it. Several files may have one with the same name. */
const comments = new Map<string, string[]>()
for (const file of globSync('src/**/*.{ts,tsx}', { cwd: root, exclude: ['**/*.test.*'] }))
  for (const [, comment = '', name = ''] of readFileSync(join(root, file), 'utf8').matchAll(
    /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export (?:async function\*?|function\*?|const) (\w+)/g,
  ))
    comments.set(name, [...(comments.get(name) ?? []), comment])

describe('the reference', () => {
  it.each(entries)('every function of $entry has an example', async ({ path }) => {
    const source = globSync(`src/${path}.{ts,tsx}`, { cwd: root })[0] ?? ''
    const module: Record<string, unknown> = await import(join(root, source))
    const functions = Object.entries(module).filter(([name, value]) => isFunction(value) && !isText(name))
    const without = functions.filter(
      ([name]) => !comments.get(name)?.some((text) => text.includes('@example')),
    )
    expect(without.map(([name]) => name)).toEqual([])
  })
})

function isFunction(value: unknown): boolean {
  return typeof value === 'function' && !/^class\b/.test(Function.prototype.toString.call(value))
}

/** A constant in capitals is a table or a text. */
function isText(name: string): boolean {
  return name === name.toUpperCase()
}
