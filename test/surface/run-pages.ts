import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Page } from 'playwright-core'
import { launchChromium } from '../browser/chromium.ts'
import { loadUnpacked } from '../browser/loaded-extension.ts'
import { bundleCases } from './bundle-cases.ts'
import type { Result } from './cases/run-each.ts'
import type { Surface } from './declarations/surface.ts'

const MANIFEST = {
  manifest_version: 3,
  name: 'The cases of extensions',
  version: '1.0.0',
  permissions: ['storage'],
  background: { service_worker: 'worker.js', type: 'module' },
}
const HTML = '<!doctype html><div id="root"></div><script type="module" src="/page.js"></script>'

/** Runs the cases for pages in Chromium. The installed package serves the page, so its server has the page's origin. */
export async function runInPage(folder: string, surface: Surface): Promise<Result> {
  const site = await writeSite(folder, 'site', {
    'index.html': HTML,
    'page.js': await bundleCases(folder, 'pages/chromium.ts', surface),
  })
  await using server = await serve(folder, site)
  const browser = await launchChromium()
  try {
    return await resultOf(await browser.newPage(), server.url)
  } finally {
    await browser.close()
  }
}

/** Runs the cases for extensions in a page of one. */
export async function runInExtension(folder: string, surface: Surface): Promise<Result> {
  const directory = await writeSite(folder, 'extension', {
    'manifest.json': JSON.stringify(MANIFEST),
    'index.html': HTML,
    'page.js': await bundleCases(folder, 'pages/extension.ts', surface),
    'worker.js': await bundleCases(folder, 'pages/extension-worker.ts', surface),
  })
  await using extension = await loadUnpacked(directory)
  const page = await extension.browser.newPage()
  return await resultOf(page, new URL('index.html', extension.worker.url()).href)
}

async function writeSite(folder: string, name: string, files: Record<string, string>): Promise<string> {
  const directory = join(folder, name)
  await mkdir(directory)
  for (const [file, content] of Object.entries(files)) await writeFile(join(directory, file), content)
  return directory
}

/** Opens the page and waits for its cases, whose module has put `result` on the global object. */
async function resultOf(page: Page, url: string): Promise<Result> {
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(String(error.stack)))
  await page.goto(url)
  const result = await page.evaluate(() => (globalThis as unknown as { result?: Promise<Result> }).result)
  if (!result) throw new Error(`the cases did not start: ${errors.join('\n')}`)
  const failures = errors.length > 0 ? { ...result.failures, uncaught: errors.join('\n') } : result.failures
  return { ...result, failures }
}

async function serve(folder: string, site: string): Promise<AsyncDisposable & { readonly url: string }> {
  const child = spawn(process.execPath, ['cases/pages/serve.ts', site], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const [url] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    ended.then(([code]) => Promise.reject(new Error(`the server of the page ended with ${code}`))),
  ])
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill()
      await ended
    },
  }
}
