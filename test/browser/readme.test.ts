import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import type { BrowserContext } from 'playwright-core'
import { build, type InlineConfig, type PreviewServer, preview } from 'vite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { eventually } from '../eventually.ts'
import { paste, type RunningServer, runServer } from '../package/readme.ts'
import { launchChromium } from './chromium.ts'

/** What the template of Vite for React has beside `src/App.tsx`. */
const PAGE = '<!doctype html><div id="root"></div><script type="module" src="/src/main.tsx"></script>'
const MAIN = `
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import App from './App.tsx'

createRoot(document.getElementById('root')!).render(<StrictMode><App /></StrictMode>)
`

describe('the page of the README, pasted', () => {
  let project: string
  let server: RunningServer
  let pages: PreviewServer
  let browser: BrowserContext
  beforeAll(async () => {
    if (!existsSync(join(root, 'dist'))) throw new Error('the package is not built: npm run build')
    project = await mkdtemp(join(tmpdir(), 'holdfast-readme-'))
    await mkdir(join(project, 'node_modules'))
    await symlink(root, join(project, 'node_modules/holdfast'))
    for (const name of ['react', 'react-dom'])
      await symlink(join(root, 'node_modules', name), join(project, 'node_modules', name))
    await paste(project, 'src/App.tsx')
    await writeFile(join(project, 'index.html'), PAGE)
    await writeFile(join(project, 'src/main.tsx'), MAIN)
    server = await runServer(project)
    const config: InlineConfig = { root: project, configFile: false, plugins: [react()], logLevel: 'warn' }
    await build(config)
    pages = await preview({ ...config, preview: { port: 0, host: '127.0.0.1', open: false } })
    const { port } = new URL(pages.resolvedUrls?.local[0] ?? '')
    browser = await launchChromium({
      addresses: { 'localhost:4321': `127.0.0.1:${server.port}`, 'localhost:5173': `127.0.0.1:${port}` },
    })
  })
  afterAll(async () => {
    await browser?.close()
    await pages?.close()
    await server?.[Symbol.asyncDispose]()
    await rm(project, { recursive: true })
  })

  it('lets one window edit and save, and shows it to the other', async () => {
    const [one, two] = [await browser.newPage(), await browser.newPage()]
    for (const page of [one, two]) await page.goto('http://localhost:5173/')
    await one.getByRole('button', { name: 'Edit' }).click()
    await one.locator('textarea:not([readonly])').fill('Minutes of the meeting')
    await eventually(async () => expect(await two.locator('.hf-banner').textContent()).toContain('Mika'))
    await one.getByRole('button', { name: 'Save' }).click()
    await eventually(async () =>
      expect(await two.locator('textarea').inputValue()).toBe('Minutes of the meeting'),
    )
    expect(await two.locator('textarea').getAttribute('readonly')).not.toBeNull()
  })
})
