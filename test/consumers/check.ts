/**
 * `npm run check:consumers`: installs the packed package beside Jest 30, Next 16, Node 22.13, Bun, Deno and workerd, and
 * uses it there. These are large, so they are not part of `npm test`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { codeOf } from '../docs/blocks.ts'
import { manifest } from '../package/manifest.ts'
import { pack, run } from '../package/packed.ts'

const specifiers = Object.keys(manifest.exports)
  .filter((subpath) => !/\.(json|css)$/.test(subpath))
  .map((subpath) => subpath.replace(/^\./, 'holdfast'))

function jestTest(names: readonly string[]): string {
  return `
  test.each(${JSON.stringify(names)})('%s', (name) => {
    expect(Object.keys(require(name)).length).toBeGreaterThan(0)
  })
  test('a lease', async () => {
    const { createLeases, LeaseError } = require('holdfast')
    const leases = createLeases(require('holdfast/memory').memoryStore())
    await leases.acquire('a')
    await expect(leases.acquire('a', { wait: 0 })).rejects.toBeInstanceOf(LeaseError)
    await leases.close()
  })`
}

async function checkCommonJs(project: string): Promise<void> {
  await install(project, 'react@19', 'jest@30', 'node@22.13.0', '@babel/plugin-transform-modules-commonjs@7')
  const node22 = join(project, 'node_modules/.bin/node')
  const jest = join(project, 'node_modules/.bin/jest')

  const code = "process.on('warning', (warning) => { throw warning }); require('holdfast').createLeases"
  await run(project, node22, '-e', code)
  report('require on Node 22.13, without a warning')

  await write(project, { 'a.test.js': jestTest(specifiers) })
  await run(project, 'node', '--experimental-vm-modules', jest)
  report('Jest 30 with --experimental-vm-modules')

  const loadable = specifiers.filter((name) => !/(server|testing)\/node$/.test(name))
  await write(project, {
    'a.test.js': jestTest(loadable),
    'jest.config.cjs': codeOf('docs/commonjs.md', 'jest.config.cjs'),
  })
  await run(project, node22, jest, '--no-cache')
  report('Jest 30 with the configuration of docs/commonjs.md, on Node 22.13')
}

/** A server component renders a component of `holdfast/react` that uses hooks: without 'use client' that fails. */
async function checkNext(project: string): Promise<void> {
  await install(
    project,
    'next@16',
    'react@19',
    'react-dom@19',
    'typescript@5',
    '@types/react@19',
    '@types/node@24',
  )
  await write(project, {
    'app/layout.tsx': `
      import type { ReactNode } from 'react'
      import 'holdfast/react/styles.css'
      export default function Layout({ children }: { children: ReactNode }) {
        return <html lang="en"><body>{children}</body></html>
      }`,
    'app/page.tsx': `
      import { AutoSaveIndicator } from 'holdfast/react'
      import { Editor } from './editor'
      export default function Page() {
        return <main><AutoSaveIndicator autosave={null} /><Editor /></main>
      }`,
    'app/editor.tsx': `
      'use client'
      import { LockBanner, useDocumentLock } from 'holdfast/react'
      export function Editor() {
        const { state, lock } = useDocumentLock('minutes-42', { name: 'Mika' })
        return <LockBanner state={state} lock={lock} />
      }`,
  })
  const handler = 'app/locks/[...path]/route.ts'
  const charges = 'app/charges/route.ts'
  await write(project, {
    [handler]: codeOf('docs/embedding.md', handler),
    [charges]: codeOf('docs/idempotency.md', charges),
  })
  await run(project, 'node', 'node_modules/.bin/next', 'build')
  report("Next's app router")
  await checkNextRoutes(project)
}

/** The route handlers of the docs, in a running Next. */
async function checkNextRoutes(project: string): Promise<void> {
  const arguments_ = ['node_modules/.bin/next', 'start', '--hostname', '127.0.0.1', '--port', '0']
  const next = spawn('node', arguments_, { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let printed = ''
      next.stdout.on('data', (text) => {
        printed += text
        const [address] = /http:\/\/(?:localhost|127\.0\.0\.1):\d+/.exec(printed) ?? []
        if (address && printed.includes('Ready')) resolve(address)
      })
      next.once('exit', () => reject(new Error(`Next did not start: ${printed}`)))
    })
    await checkNextLocks(url)
    await checkNextCharges(url)
  } finally {
    next.kill()
  }
}

/** docs/embedding.md: one browser locks, another is refused and sees the release. */
async function checkNextLocks(url: string): Promise<void> {
  const lock = `${url}/locks/api/documents/42/lock`
  const headers = { 'content-type': 'application/json' }
  const locked = await fetch(lock, { method: 'POST', headers, body: '{"name":"Mika"}' })
  const cookie = locked.headers.get('set-cookie')?.split(';')[0] ?? ''
  const refused = await fetch(lock, { method: 'POST' })
  const released = await fetch(lock, { method: 'DELETE', headers: { cookie } })
  const read = (await (await fetch(lock)).json()) as { is_locked?: boolean }
  const seen = [locked.status, refused.status, released.status, read.is_locked].join()
  if (seen !== '200,409,200,false') throw new Error(`Next answered ${seen}`)
  report('the route handler of docs/embedding.md in Next')
}

/** docs/idempotency.md: a repeated request gets the answer of the first one. */
async function checkNextCharges(url: string): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-user': 'mika', 'idempotency-key': '"k-1"' }
  const charge = async (amount: number) => {
    const body = JSON.stringify({ amount })
    const answer = await fetch(`${url}/charges`, { method: 'POST', headers, body })
    return [answer.status, answer.headers.get('idempotent-replayed')].join()
  }
  const seen = [await charge(5), await charge(5), await charge(6)].join(' ')
  if (seen !== '201, 201,true 422,') throw new Error(`Next answered ${seen}`)
  report('the route handler of docs/idempotency.md in Next')
}

/** Every entry is loaded, a lease is exclusive, and the server answers and opens a socket. */
const PROGRAM = `
  for (const name of ${JSON.stringify(specifiers)})
    if (Object.keys(await import(name)).length === 0) throw new Error(name)
  const { createLeases } = await import('holdfast')
  const { memoryStore } = await import('holdfast/memory')
  const { sqliteStore } = await import('holdfast/sqlite')
  const { createServer } = await import('holdfast/server/node')
  for (const store of [memoryStore(), sqliteStore('./leases.db')]) {
    const leases = createLeases(store)
    const lease = await leases.acquire('a')
    const refused = await leases.acquire('a', { wait: 0 }).catch(({ code }) => code)
    if (refused !== 'lease-held') throw new Error(String(refused))
    await lease.release()
    await leases.close()
  }
  const server = await createServer({ store: memoryStore(), settings: { port: 0 }, log: () => {} })
  const answer = await fetch(server.url + '/api/documents/42/lock', { method: 'POST' })
  if (answer.status !== 200) throw new Error(String(answer.status))
  const socket = new WebSocket(server.url.replace('http', 'ws') + '/app/holdfast?protocol=7')
  const event = await new Promise((resolve) => { socket.onmessage = ({ data }) => resolve(JSON.parse(data).event) })
  if (event !== 'pusher:connection_established') throw new Error(event)
  socket.close()
  await server.close()
  console.log('well')`

const WORKER = `
  import { createLeases } from 'holdfast'
  import { memoryStore } from 'holdfast/memory'
  import { createLockServer } from 'holdfast/server'
  let server
  export default {
    async fetch(request) {
      await using leases = createLeases(memoryStore())
      await using lease = await leases.acquire('a')
      server ??= await createLockServer({ store: memoryStore(), log: () => {} })
      return server.fetch(request)
    },
  }`

const WORKER_CONFIG = `
  using Workerd = import "/workerd/workerd.capnp";
  const config :Workerd.Config = (
    services = [ (name = "main", worker = .main) ],
    sockets = [ (name = "http", address = "127.0.0.1:0", http = (), service = "main") ]
  );
  const main :Workerd.Worker =
    ( modules = [ (name = "worker", esModule = embed "bundle.js") ], compatibilityDate = "2026-01-01" );`

async function checkRuntimes(project: string): Promise<void> {
  await install(project, 'react@19', 'bun', 'deno', 'workerd', 'esbuild')
  await write(project, { 'program.mjs': PROGRAM, 'worker.mjs': WORKER, 'config.capnp': WORKER_CONFIG })
  const bin = (name: string) => join(project, 'node_modules/.bin', name)
  await run(project, bin('bun'), 'program.mjs')
  report('every entry, leases and the server in Bun')
  await run(project, bin('deno'), 'run', '--allow-all', 'program.mjs')
  report('every entry, leases and the server in Deno')
  // As wrangler bundles a worker.
  const conditions = '--conditions=workerd,worker,browser'
  await run(
    project,
    bin('esbuild'),
    'worker.mjs',
    '--bundle',
    '--format=esm',
    conditions,
    '--outfile=bundle.js',
  )
  await checkWorker(bin('workerd'), project)
  report('leases and the server in workerd')
}

async function checkWorker(program: string, project: string): Promise<void> {
  const control = ['ignore', 'inherit', 'inherit', 'pipe'] as const
  const worker = spawn(program, ['serve', 'config.capnp', '--control-fd=3'], {
    cwd: project,
    stdio: [...control],
  })
  try {
    const [line] = (await once(worker.stdio[3] as Readable, 'data')) as [Buffer]
    const { port } = JSON.parse(String(line))
    const answer = await fetch(`http://127.0.0.1:${port}/api/documents/42/lock`, { method: 'POST' })
    if (answer.status !== 200) throw new Error(`workerd answered ${answer.status}: ${await answer.text()}`)
  } finally {
    worker.kill()
  }
}

async function install(project: string, ...packages: string[]): Promise<void> {
  await write(project, { 'package.json': '{ "private": true }' })
  await run(project, 'npm', 'install', '--no-audit', '--no-fund', packed.tarball, ...packages)
}

async function write(project: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(project, name)), { recursive: true })
    await writeFile(join(project, name), text.trim())
  }
}

function report(what: string): void {
  console.log(`ok: ${what}`)
}

await using packed = await pack()
const directory = await mkdtemp(join(tmpdir(), 'holdfast-consumers-'))
try {
  await checkCommonJs(join(directory, 'jest'))
  await checkNext(join(directory, 'next'))
  await checkRuntimes(join(directory, 'runtimes'))
} finally {
  await rm(directory, { recursive: true })
}
