/**
 * `npm run check:consumers`: installs the packed package beside Jest 30, Next 16 and Node 22.13, and uses it there.
 * These are large, so they are not part of `npm test`.
 */
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { codeOf } from '../docs/blocks.ts'
import { manifest } from '../package/manifest.ts'
import { pack, run } from '../package/packed.ts'

const specifiers = Object.keys(manifest.exports)
  .filter((subpath) => !/\.(json|css)$/.test(subpath))
  .map((subpath) => subpath.replace(/^\./, 'holdfast'))

await using packed = await pack()
const directory = await mkdtemp(join(tmpdir(), 'holdfast-consumers-'))
try {
  await checkCommonJs(join(directory, 'jest'))
  await checkNext(join(directory, 'next'))
} finally {
  await rm(directory, { recursive: true })
}

async function checkCommonJs(project: string): Promise<void> {
  await install(project, 'react@19', 'jest@30', 'node@22.13.0', '@babel/plugin-transform-modules-commonjs@7')
  const node22 = join(project, 'node_modules/.bin/node')
  const jest = join(project, 'node_modules/.bin/jest')

  const code = "process.on('warning', (warning) => { throw warning }); require('holdfast').createLeases"
  await run(project, node22, '-e', code)
  report('require on Node 22.13, without a warning')

  const test = `
    test.each(${JSON.stringify(specifiers)})('%s', (name) => {
      expect(Object.keys(require(name)).length).toBeGreaterThan(0)
    })
    test('a lease', async () => {
      const { createLeases, LeaseError } = require('holdfast')
      const leases = createLeases(require('holdfast/memory').memoryStore())
      await leases.acquire('a')
      await expect(leases.acquire('a', { wait: 0 })).rejects.toBeInstanceOf(LeaseError)
      await leases.close()
    })`
  await write(project, { 'a.test.js': test })
  await run(project, 'node', '--experimental-vm-modules', jest)
  report('Jest 30 with --experimental-vm-modules')

  await write(project, { 'jest.config.cjs': codeOf('docs/commonjs.md', 'jest.config.cjs') })
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
