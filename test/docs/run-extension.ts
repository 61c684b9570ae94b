import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type LoadedExtension, loadUnpacked } from '../browser/loaded-extension.ts'
import { programOf } from './blocks.ts'
import { type BuiltFiles, bundlePage, bundleWorker, ENDED } from './bundle-page.ts'
import type { PlacedBlock } from './sandbox.ts'
import { type Look, visitPage } from './visit-page.ts'

const MANIFEST = {
  manifest_version: 3,
  name: 'An extension of a reader',
  version: '1.0.0',
  permissions: ['storage'],
  background: { service_worker: 'worker.js', type: 'module' },
}
/** The worker of an extension whose page is run, as docs/sync.md says. */
const COORDINATOR = `
import { chromeContext, createCoordinator } from 'holdfast/sync'

createCoordinator(chromeContext())
`
/** Collects what a worker would print in its developer tools, before anything else runs. */
const WATCH = `
globalThis.problems = []
addEventListener('error', ({ message }) => problems.push('uncaught: ' + message))
addEventListener('unhandledrejection', ({ reason }) => problems.push('uncaught: ' + (reason?.stack ?? reason)))
for (const level of ['error', 'warn'])
  console[level] = (...values) => problems.push('console: ' + values.join(' '))
`

export function usesExtension(code: string): boolean {
  return /\bchrome\.|chromeContext\(/.test(code)
}

/** Runs a block with a coordinator as the service worker of an extension, and others as its page. */
export async function runInExtension(placed: PlacedBlock, look?: Look): Promise<readonly string[]> {
  const isWorker = programOf(placed.block).includes('createCoordinator(')
  const { directory, file } = placed
  if (!isWorker) await writeFile(join(directory, 'coordinator.js'), COORDINATOR)
  const worker = await bundleWorker(directory, isWorker ? file : 'coordinator.js')
  const page = isWorker ? [] : await bundlePage(directory, file)
  await using folder = await writeExtension(new Map([...page, ...worker]))
  await using extension = await loadUnpacked(folder.path)
  if (isWorker) return await problemsOfWorker(extension)
  return await visitPage(extension.browser, new URL('index.html', extension.worker.url()).href, look)
}

function problemsOfWorker({ worker }: LoadedExtension): Promise<readonly string[]> {
  return worker.evaluate(async (ended) => {
    const { problems, ...state } = globalThis as unknown as { problems: string[]; [name: string]: unknown }
    if (!state[ended]) problems.push('the worker did not run to its end')
    // Whatever its listeners write under a lock is written before this is granted.
    for (const { name = '' } of (await navigator.locks.query()).held ?? [])
      await navigator.locks.request(name, () => {})
    await chrome.storage.local.get()
    return problems
  }, ENDED)
}

async function writeExtension(files: BuiltFiles): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-docs-extension-'))
  await writeFile(join(path, 'manifest.json'), JSON.stringify(MANIFEST))
  for (const [name, content] of files) {
    await mkdir(dirname(join(path, name)), { recursive: true })
    await writeFile(join(path, name), name === 'worker.js' ? WATCH + content : content)
  }
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}
