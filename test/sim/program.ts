import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { build, type Plugin } from 'esbuild'

const root = join(import.meta.dirname, '../..')

/** What code of the product finds as globals. A name that a process does not give is `undefined` there. */
const GLOBALS = [
  'globalThis',
  'self',
  'window',
  'document',
  'location',
  'navigator',
  'localStorage',
  'indexedDB',
  'fetch',
  'Headers',
  'Request',
  'Response',
  'WebSocket',
  'BroadcastChannel',
  'Worker',
  'Date',
  'Math',
  'performance',
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'crypto',
  'console',
  'process',
  'addEventListener',
  'removeEventListener',
  'chrome',
  'browser',
] as const

export type Globals = Partial<Record<(typeof GLOBALS)[number], unknown>>

/** A change of one place of the sources, to see whether it is noticed. */
export interface Mutation {
  /** Below `src`. */
  readonly file: string
  readonly text: string
  readonly replacement: string
}

/** Starts the program with these globals. Each start has modules of its own, as each process and page has. */
export type Program<Exports> = (globals: Globals) => Exports

export interface CompileOptions {
  /** Takes the modules that bundlers take for pages. */
  readonly forPages?: boolean
  readonly mutations?: readonly Mutation[]
}

/**
 * Compiles modules of `src` so that they can be started many times in this process. Their globals are arguments: so a
 * page has a `fetch`, a clock and a storage of its own, and nothing that is random or late comes from this machine.
 */
export async function compile<Exports>(
  files: readonly string[],
  { forPages = false, mutations = [] }: CompileOptions = {},
): Promise<Program<Exports>> {
  const contents = files.map((file) => `export * from './src/${file}'`).join('\n')
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'exported',
    target: 'esnext',
    platform: forPages ? 'browser' : 'node',
    logLevel: 'silent',
    plugins: [sources(forPages, mutations)],
  })
  const [{ text } = { text: '' }] = outputFiles
  const start = new Function(...GLOBALS, `${text}\nreturn exported`)
  return (globals) => {
    const own = Object.create(globalThis)
    for (const name of GLOBALS)
      Object.defineProperty(own, name, { value: globals[name], writable: true, configurable: true })
    return start(...GLOBALS.map((name) => (name === 'globalThis' ? own : globals[name])))
  }
}

function sources(forPages: boolean, mutations: readonly Mutation[]): Plugin {
  return {
    name: 'sources',
    setup({ onLoad }) {
      onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
        const forPage = path.replace(/\.ts$/, '-browser.ts')
        const text = forPages
          ? await readFile(forPage, 'utf8').catch(() => readFile(path, 'utf8'))
          : await readFile(path, 'utf8')
        return { contents: mutate(relative(join(root, 'src'), path), text, mutations), loader: 'ts' }
      })
    },
  }
}

/** Throws if a mutation does not match exactly one place, so that it does not rot. */
export function mutate(file: string, text: string, mutations: readonly Mutation[]): string {
  return mutations
    .filter((mutation) => mutation.file === file)
    .reduce((mutated, { text: place, replacement }) => {
      const parts = mutated.split(place)
      if (parts.length !== 2) throw new Error(`${file} contains ${parts.length - 1} times: ${place}`)
      return parts.join(replacement)
    }, text)
}
