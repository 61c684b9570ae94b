import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { parse } from 'smol-toml'
import { afterAll, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { DEFAULT_THRESHOLDS, isRecord, makeThresholds } from '../../src/telemetry/index.ts'
import { manifest } from '../package/manifest.ts'

const page = readFileSync(join(root, 'docs/telemetry.md'), 'utf8')
const blocks = (language: string) =>
  Array.from(page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms')), ([, code = '']) => code)

// Inside the repository, so that the packages that an example imports are found.
const directory = mkdtempSync(join(root, 'node_modules/.holdfast-docs-'))
afterAll(() => rmSync(directory, { recursive: true }))

describe('the page about telemetry', () => {
  it('begins with an example that prints what its comment says', async () => {
    const [code = ''] = blocks('ts')
    const file = join(directory, 'example.mjs')
    writeFileSync(
      file,
      code.replace(/'(holdfast[/\w]*)'/g, (_, specifier) => `'${sourceOf(specifier)}'`),
    )
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: directory })
    expect(stdout).toContain('0 healthy: rollback_required=false')
  })

  it('the page about telemetry shows the default thresholds and a valid record', () => {
    expect(blocks('toml').map((toml) => makeThresholds(parse(toml)))).toEqual([DEFAULT_THRESHOLDS])
    expect(blocks('json').map((line) => isRecord(JSON.parse(line.replace('…', ''))))).toEqual([true])
  })
})

function sourceOf(specifier: string): string {
  const target = manifest.exports[specifier.replace('holdfast', '.')]
  if (!target || typeof target === 'string') throw new Error(`${specifier} is not exported`)
  return pathToFileURL(join(root, target.default.replace('dist', 'src').replace(/js$/, 'ts'))).href
}
