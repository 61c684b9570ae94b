/** `npm run example:extension` builds the extension into `dist`, from where a browser can load it. */
import { cp, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

/** Content scripts cannot be modules. */
const CLASSIC_SCRIPTS = ['content']

if (import.meta.main) {
  const target = join(import.meta.dirname, 'dist')
  await buildExtension(join(import.meta.dirname, 'src'), target)
  console.log(`built ${target}\nload it: chrome://extensions, Developer mode, Load unpacked`)
}

/**
 * Bundles the worker, the content script and the script of every page, and copies the other files. The script of a
 * page has the same name as the page.
 */
export async function buildExtension(source: string, target: string): Promise<void> {
  await rm(target, { recursive: true, force: true })
  await mkdir(target, { recursive: true })
  const files = await readdir(source)
  const pages = files.filter((file) => file.endsWith('.html')).map((file) => file.slice(0, -'.html'.length))
  for (const name of ['worker', ...CLASSIC_SCRIPTS, ...pages]) {
    const module = files.find((file) => file === `${name}.ts` || file === `${name}.tsx`)
    if (module) await bundle(join(source, module), join(target, `${name}.js`), CLASSIC_SCRIPTS.includes(name))
  }
  for (const file of files)
    if (/\.(json|html|css|png)$/.test(file)) await cp(join(source, file), join(target, file))
}

async function bundle(input: string, file: string, classic: boolean): Promise<void> {
  await using build = await rolldown({
    input,
    platform: 'browser',
    moduleTypes: { '.css': 'text' },
    // Everything in a bundle runs in the client.
    onLog: (level, log, report) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && report(level, log),
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  })
  await build.write({ file, format: classic ? 'iife' : 'esm', codeSplitting: false })
}
