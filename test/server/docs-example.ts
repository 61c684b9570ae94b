import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, expect } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { eventually } from '../eventually.ts'
import { manifest } from '../package/manifest.ts'

// Inside the repository, so that the packages that an example imports are found.
const directory = mkdtempSync(join(root, 'node_modules/.holdfast-docs-'))
const running: ChildProcess[] = []
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})
afterAll(() => rmSync(directory, { recursive: true }))

/** Runs an example with the source, on another port than 4321. The returned function returns its output so far. */
export function runExample(code: string, port: number): () => string {
  const file = writeExample(code.replaceAll('4321', String(port)))
  const child = spawn(process.execPath, [file], { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })
  running.push(child)
  let output = ''
  const append = (chunk: Buffer) => {
    output += chunk
  }
  child.stdout.on('data', append)
  child.stderr.on('data', append)
  return () => output
}

/** What an example exports, with the source. Each call runs it anew. */
export async function importExample<T>(code: string): Promise<T> {
  return (await import(pathToFileURL(writeExample(code)).href)) as T
}

function writeExample(code: string): string {
  const source = code.replace(/from '(holdfast[/\w]*)'/g, (_, specifier) => `from '${sourceOf(specifier)}'`)
  const file = join(directory, `${crypto.randomUUID()}.mjs`)
  writeFileSync(file, stripTypeScriptTypes(source))
  return file
}

/** The port that an example has printed. */
export async function portOf(output: () => string): Promise<string> {
  const port = () => /(?:port: |127\.0\.0\.1:)(\d+)/.exec(output())?.[1]
  await eventually(() => expect(port(), output()).toBeDefined())
  return port() ?? ''
}

function sourceOf(specifier: string): string {
  const entry = manifest.exports[specifier.replace('holdfast', '.')]
  if (typeof entry !== 'object') throw new Error(`the package has no ${specifier}`)
  return pathToFileURL(join(root, entry.default.replace('/dist/', '/src/').replace(/js$/, 'ts'))).href
}
