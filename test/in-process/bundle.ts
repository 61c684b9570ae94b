/**
 * A file of tests as one script, with all of `src` and `test` that it uses. The script takes `vitest` from its
 * arguments, so that its tests can be collected and run by the process that evaluates it: again and again, each time
 * with modules of its own.
 */
import { readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** Of `test/hang-limit.ts`: a wait that a fault keeps from ending is cut short. */
export const HANG_MS = 2000

export interface BundleOptions {
  /** The folder of the repository, or of a copy of it. */
  readonly root: string
  /** Changes a source. `file`: relative to `src`. */
  readonly change?: (file: string, text: string) => string
}

export async function bundleTests(
  file: string,
  { root, change = (_, text) => text }: BundleOptions,
): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(root, file)],
    bundle: true,
    write: false,
    format: 'cjs',
    target: 'esnext',
    platform: 'node',
    jsx: 'automatic',
    packages: 'external',
    logLevel: 'silent',
    plugins: [
      {
        name: 'in process',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^vitest$/ }, () => ({ path: 'vitest', namespace: 'in-process' }))
          onLoad({ filter: /.*/, namespace: 'in-process' }, () => ({ contents: 'module.exports = vitest' }))
          onLoad({ filter: /\.tsx?$/ }, async ({ path }) => ({
            contents: withPaths(path, change(relative(join(root, 'src'), path), await sourceOf(path))),
            loader: path.endsWith('x') ? 'tsx' : 'ts',
          }))
        },
      },
    ],
  })
  return outputFiles[0]?.text ?? ''
}

async function sourceOf(path: string): Promise<string> {
  const text = await readFile(path, 'utf8')
  return path.endsWith('test/hang-limit.ts') ? text.replace(/HANG_MS = [\d_]+/, `HANG_MS = ${HANG_MS}`) : text
}

function withPaths(path: string, text: string): string {
  return text
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
    .replaceAll('import.meta.filename', JSON.stringify(path))
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
}
