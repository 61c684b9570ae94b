import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { createServer, type HoldfastServer } from '../../src/server/node/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { manifest } from '../package/manifest.ts'

const WAIT = { timeout: 30_000, interval: 50 }
const page = readFileSync(join(root, 'docs/websocket.md'), 'utf8')
const examples = (kind: string) =>
  Array.from(page.matchAll(/^```js (\w+)\n(.*?)^```/gms), ([, name, code = '']) => ({ name, code })).filter(
    ({ name }) => name === kind,
  )

// Inside the repository, so that the packages that an example imports are found.
const directory = mkdtempSync(join(root, 'node_modules/.holdfast-docs-'))
const running: ChildProcess[] = []
const servers: HoldfastServer[] = []
afterEach(async () => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
  for (const server of servers.splice(0)) await server.stop()
})
afterAll(() => rmSync(directory, { recursive: true }))

/** Runs an example against the source, on another port; answers what it prints. */
function run(code: string, port: number): () => string {
  const source = code
    .replace(/from '(holdfast[/\w]*)'/g, (_, specifier) => `from '${sourceOf(specifier)}'`)
    .replaceAll('4321', String(port))
  const file = join(directory, `${crypto.randomUUID()}.mjs`)
  writeFileSync(file, source)
  const child = spawn(process.execPath, [file], { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })
  running.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  return () => output
}

function sourceOf(specifier: string): string {
  const entry = manifest.exports[specifier.replace('holdfast', '.')]
  if (typeof entry !== 'object') throw new Error(`the package has no ${specifier}`)
  return pathToFileURL(join(root, entry.default.replace('/dist/', '/src/').replace(/js$/, 'ts'))).href
}

describe('the page on WebSockets', () => {
  it.each(examples('client'))('has a $name that hears a lock come and go: %#', async ({ code }) => {
    const server = await createServer({ store: memoryStore(), settings: { port: 0 }, log: () => {} })
    servers.push(server)
    const output = run(code, server.port)
    await vi.waitFor(() => expect(output()).toContain('listening'), WAIT)
    const lock = `${server.url}/api/documents/42/lock`
    const granted = await fetch(lock, { method: 'POST' })
    const [cookie = ''] = granted.headers.getSetCookie().map((set) => set.split(';')[0])
    await fetch(lock, { method: 'DELETE', headers: { cookie } })
    await vi.waitFor(() => expect(output()).toMatch(/locked for \d+ ms\nunlocked: released/), WAIT)
  })

  it.each(examples('server'))('has a $name that can be reached: %#', async ({ code }) => {
    const output = run(code, 0)
    const port = () => /(?:port: |127\.0\.0\.1:)(\d+)/.exec(output())?.[1]
    await vi.waitFor(() => expect(port()).toBeDefined(), WAIT)
    const socket = new WebSocket(`ws://127.0.0.1:${port()}/app/holdfast?protocol=7`)
    const first = await new Promise<string>((resolve) => {
      socket.onmessage = ({ data }) => resolve(String(data))
    })
    expect(first).toContain('pusher:connection_established')
    socket.close()
  })
})
