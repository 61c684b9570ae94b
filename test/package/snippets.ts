import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { root } from '../../scripts/run-tool.ts'
import { NOT_YET } from '../docs/not-yet.ts'
import { manifest } from './manifest.ts'
import { compileProject } from './packed.ts'

/** A block of code on a page, to be compiled as TypeScript. */
export interface Snippet {
  readonly page: string
  /** Of the page, on which the block begins. */
  readonly line: number
  readonly extension: 'ts' | 'tsx'
  readonly code: string
}

/** What `tsc --init` writes, but for a bundler, which `pusher-js` needs, and with types for servers and extensions. */
const READERS_OPTIONS = {
  ...{ module: 'preserve', target: 'esnext', jsx: 'react-jsx', types: ['node', 'chrome'] },
  ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true },
  ...{ verbatimModuleSyntax: true, isolatedModules: true, moduleDetection: 'force' },
  ...{ noUncheckedSideEffectImports: true, skipLibCheck: true },
}

export function snippetsOf(page: string, text: string): Snippet[] {
  const blocks = text.matchAll(/^( *)```(?:js|ts|typescript|(tsx))\b.*\n([\s\S]*?)^\1```/gm)
  return Array.from(blocks, ({ index, 2: extension, 3: code = '' }) => ({
    page,
    line: text.slice(0, index).split('\n').length,
    extension: extension === 'tsx' ? 'tsx' : 'ts',
    code,
  }))
}

export function docsSnippets(): Snippet[] {
  return NOT_YET.flatMap((page) => snippetsOf(page, readFileSync(join(root, page), 'utf8')))
}

/** Compiles each snippet as a module of its own; rejects with what is wrong, by page and line. */
export async function compile(snippets: readonly Snippet[]): Promise<void> {
  // Inside the repository, so that the packages that a snippet imports are found.
  const directory = await mkdtemp(join(root, 'node_modules/.holdfast-snippets-'))
  try {
    const compilerOptions = {
      ...READERS_OPTIONS,
      ...{ noEmit: true, allowImportingTsExtensions: true, paths: sourcesOfExports() },
    }
    const files = [join(root, 'test/package/reader.ts'), ...snippets.map(fileName)]
    await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    await writeFile(join(directory, 'package.json'), JSON.stringify({ type: 'module' }))
    for (const snippet of snippets) {
      const file = join(directory, fileName(snippet))
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, '\n'.repeat(snippet.line) + snippet.code)
    }
    await compileProject(directory).catch(({ message }: Error) => {
      throw new Error(message.replace(/^(\S+)\.\d+\.tsx?\((\d+),\d+\)/gm, '$1:$2'))
    })
  } finally {
    await rm(directory, { recursive: true })
  }
}

function fileName({ page, line, extension }: Snippet): string {
  return `${page}.${line}.${extension}`
}

function sourcesOfExports(): Record<string, string[]> {
  const paths: Record<string, string[]> = {}
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    if (typeof target === 'string') continue
    const types = join(root, target.types.replace('./dist', 'src'))
    paths[subpath.replace(/^\./, 'holdfast')] = [types.replace(/\.d\.ts$/, '.ts'), types]
  }
  return paths
}
