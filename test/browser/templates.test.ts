/** A copy of each template, with the package as npm would install it, is built by its own scripts and loaded. */
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { eventually } from '../eventually.ts'
import { run } from '../package/packed.ts'
import { type Site, serveModule } from './chromium.ts'
import { launchFirefox } from './firefox.ts'
import { loadUnpacked } from './loaded-extension.ts'

describe.each([
  ['template-vite-extension', 'dist'],
  ['template-wxt', '.output/chrome-mv3'],
])('examples/%s', (name, output) => {
  let project: string
  let site: Site
  beforeAll(async () => {
    project = await copyOf(name)
    site = await serveModule(join(import.meta.dirname, 'pages/empty.ts'))
  })
  afterAll(async () => {
    await site?.[Symbol.asyncDispose]()
    await rm(project, { recursive: true })
  })

  it('names versions that can be installed', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-versions-'))
    try {
      const { dependencies: _ours, ...rest } = JSON.parse(
        await readFile(join(project, 'package.json'), 'utf8'),
      )
      await writeFile(join(directory, 'package.json'), JSON.stringify(rest))
      await run(directory, 'npm', 'install', '--package-lock-only', '--no-audit', '--no-fund')
      const { packages } = JSON.parse(await readFile(join(directory, 'package-lock.json'), 'utf8'))
      for (const name of Object.keys(rest.devDependencies))
        expect(packages).toHaveProperty([`node_modules/${name}`])
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  it('has correct types', () => run(project, 'npm', 'run', 'check'))

  it('is built, and shares its notes between popup and page', async () => {
    await run(project, 'npm', 'run', 'build')
    await using extension = await loadUnpacked(join(project, output))
    const popup = await extension.open('popup.html')
    const page = await extension.browser.newPage()
    await page.goto(site.url)
    const notes = () => popup.locator('li span').allTextContents()
    const button = page.locator('my-extension button')
    await eventually(async () => expect(await popup.getByText('No notes yet').isVisible()).toBe(true))

    await popup.bringToFront()
    await popup.getByLabel('New note').fill('from the popup')
    await popup.getByLabel('New note').press('Enter')
    await eventually(async () => expect(await button.textContent()).toContain('(notes: 1)'))
    await page.bringToFront()
    await button.click()
    await eventually(async () => expect(await notes()).toEqual(['from the popup', site.url]))
    await popup.bringToFront()
    await popup.locator('li button').first().click()
    await eventually(async () => expect(await button.textContent()).toContain('(notes: 1)'))
    expect(await notes()).toEqual([site.url])
  })
})

it('examples/template-wxt is built for Firefox, and shares its notes between two pages there', async () => {
  const project = await copyOf('template-wxt')
  try {
    await run(project, 'npm', 'run', 'build:firefox')
    await using site = await serveModule(join(import.meta.dirname, 'pages/empty.ts'))
    await using firefox = await launchFirefox()
    await firefox.install(join(project, '.output/firefox-mv2'))
    const button = `document.querySelector('my-extension')?.shadowRoot.querySelector('button')`
    const [one, two] = [await firefox.open(site.url), await firefox.open(site.url)]
    for (const page of [one, two])
      await eventually(async () =>
        expect(await page.evaluate(`${button}?.textContent`)).toContain('notes: 0'),
      )
    await one.evaluate(`${button}.click()`)
    for (const page of [one, two])
      await eventually(async () => expect(await page.evaluate(`${button}.textContent`)).toContain('notes: 1'))
  } finally {
    await rm(project, { recursive: true })
  }
})

async function copyOf(template: string): Promise<string> {
  if (!existsSync(join(root, 'dist'))) throw new Error('the package is not built: npm run build')
  const project = await mkdtemp(join(tmpdir(), 'holdfast-template-'))
  await cp(join(root, 'examples', template), project, { recursive: true })
  const packages = join(project, 'node_modules')
  await mkdir(packages)
  for (const name of await readdir(join(root, 'node_modules')))
    await symlink(join(root, 'node_modules', name), join(packages, name))
  await symlink(root, join(packages, 'holdfast'))
  return project
}
