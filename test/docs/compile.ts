import { writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { compileProject } from '../package/packed.ts'
import { type Block, titleOf } from './blocks.ts'
import type { PlacedBlock, Sandbox } from './sandbox.ts'

/** What `tsc --init` writes, for files that Node runs as they are. */
const READERS_OPTIONS = {
  ...{ target: 'esnext', jsx: 'react-jsx', types: ['node'] },
  ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true },
  ...{ verbatimModuleSyntax: true, isolatedModules: true, moduleDetection: 'force' },
  ...{ noUncheckedSideEffectImports: true, allowImportingTsExtensions: true, erasableSyntaxOnly: true },
  ...{ allowJs: true, checkJs: true, noEmit: true, skipLibCheck: false },
}
const FOR_NODE = { ...READERS_OPTIONS, module: 'nodenext' }
/** As the templates of Vite have it. */
const FOR_BUNDLERS = { ...READERS_OPTIONS, module: 'preserve', types: ['node', 'chrome', 'vite/client'] }

/** Compiles all blocks. Resolves with what is wrong, by page and line, for each block that is not correct. */
export async function compile(
  placed: readonly PlacedBlock[],
  { directory }: Sandbox,
): Promise<ReadonlyMap<string, string>> {
  const code = placed.filter(({ block }) => isCompiled(block))
  const [pages, programs] = [code.filter(isPage), code.filter((example) => !isPage(example))]
  const output = [
    await tsc(directory, 'tsconfig.node.json', FOR_NODE, programs),
    await tsc(directory, 'tsconfig.page.json', FOR_BUNDLERS, pages),
  ].join('\n')
  const errors = new Map<string, string>()
  for (const [, path = '', line, message] of output.matchAll(
    /^(\S+?)\((\d+),\d+\): (error .*(?:\n .*)*)/gm,
  )) {
    const origin = code.find((example) => path.startsWith(`${relative(directory, example.directory)}/`))
    if (path.startsWith('node_modules/holdfast/'))
      throw new Error(`the package has types that do not compile: ${path}(${line}): ${message}`)
    // The types of a reader's other packages, such as Firestore's, are not ours to correct.
    if (!origin) continue
    const title = titleOf(origin.block)
    errors.set(title, `${errors.get(title) ?? ''}${origin.block.page}:${line}: ${message}\n`)
  }
  return errors
}

/** Nobody compiles the JavaScript of a page: its bundler finds wrong imports. */
export function isCompiled({ language, role }: Block): boolean {
  return language !== 'sh' && !(language === 'js' && role === 'page')
}

function isPage({ block }: PlacedBlock): boolean {
  return block.role === 'page' || block.language === 'tsx'
}

async function tsc(
  directory: string,
  config: string,
  compilerOptions: object,
  placed: readonly PlacedBlock[],
): Promise<string> {
  if (placed.length === 0) return ''
  const files = placed.map((example) => relative(directory, join(example.directory, example.file)))
  await writeFile(join(directory, config), JSON.stringify({ compilerOptions, files }))
  const compiled = compileProject(directory, config)
  return compiled.catch(({ message }: Error) => message)
}
