/** What bundlers make of an entry, in a project that has installed the package. */
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build as esbuild } from 'esbuild'
import { type OutputChunk, rolldown } from 'rolldown'
import { build as vite } from 'vite'

/** Bytes, minified and compressed. */
export interface BundleSize {
  /** What is loaded at once: the entry and what it imports. */
  readonly atOnce: number
  /** As one file, in which nothing is on demand. */
  readonly oneFile: number
}

export type Bundler = (project: string, entry: string) => Promise<Pick<BundleSize, 'atOnce'>>

export const BUNDLERS: Readonly<Record<string, Bundler>> = {
  rolldown: withRolldown,
  esbuild: withEsbuild,
  vite: withVite,
}

/** A CommonJS project if the entry has `require`, and otherwise one of ES modules. */
function inFile<T>(project: string, entry: string, use: (file: string) => Promise<T>): Promise<T> {
  const type = entry.includes('require(') ? 'cjs' : 'mjs'
  const file = join(project, `entry-${randomUUID()}.${type}`)
  return writeFile(file, entry)
    .then(() => use(file))
    .finally(() => rm(file, { force: true }))
}

export function withRolldown(project: string, entry: string): Promise<BundleSize> {
  return inFile(project, entry, async (input) => {
    await using build = await rolldown({ input, platform: 'browser' })
    const split = await build.generate({ minify: true, comments: false })
    const { output } = await build.generate({ minify: true, comments: false, codeSplitting: false })
    return { atOnce: atOnceIn(split.output), oneFile: compressed(chunksOf(output).map(({ code }) => code)) }
  })
}

export function withEsbuild(project: string, entry: string): Promise<BundleSize> {
  return inFile(project, entry, async (file) => {
    const bundle = (splitting: boolean) =>
      esbuild({
        entryPoints: [file],
        bundle: true,
        minify: true,
        splitting,
        format: 'esm',
        platform: 'browser',
        legalComments: 'none',
        write: false,
        metafile: true,
        outdir: project,
        absWorkingDir: project,
      })
    const { outputFiles, metafile } = await bundle(true)
    const { outputFiles: whole } = await bundle(false)
    const first = Object.keys(metafile.outputs).find(
      (path) => metafile.outputs[path]?.entryPoint === basename(file),
    )
    const loaded = new Set<string>()
    const load = (path: string) => {
      if (loaded.has(path)) return
      loaded.add(path)
      for (const { kind, path: next } of metafile.outputs[path]?.imports ?? [])
        if (kind === 'import-statement') load(next)
    }
    load(first ?? '')
    const isLoaded = (path: string) => [...loaded].some((name) => path.endsWith(`/${name}`))
    return {
      atOnce: compressed(outputFiles.filter(({ path }) => isLoaded(path)).map(({ text }) => text)),
      oneFile: compressed(whole.map(({ text }) => text)),
    }
  })
}

/**
 * An application that loads a part of its own on demand, with and without the entry: the helper of Vite for `import()`
 * is there once, no matter who uses it.
 */
export async function withVite(project: string, entry: string): Promise<Pick<BundleSize, 'atOnce'>> {
  const own = await viteBytes(project, '')
  const both = await viteBytes(project, entry)
  return { atOnce: both - own }
}

async function viteBytes(project: string, entry: string): Promise<number> {
  const part = join(project, `part-${randomUUID()}.mjs`)
  await writeFile(part, 'export const own = 1\n')
  const isCommonJs = entry.includes('require(')
  const ownImport = `() => import('./${basename(part)}')`
  const app = isCommonJs
    ? `${entry}exports.own = ${ownImport}\n`
    : `${entry}export const own = ${ownImport}\n`
  try {
    return await inFile(project, app, async (input) => {
      const built = await vite({
        root: project,
        configFile: false,
        logLevel: 'silent',
        build: { write: false, rolldownOptions: { input, preserveEntrySignatures: 'strict' } },
      })
      if (!('output' in built)) throw new Error('Vite has built nothing')
      return atOnceIn(built.output)
    })
  } finally {
    await rm(part, { force: true })
  }
}

/** All modules that the entry imports, used or not. */
export function modulesOf(project: string, entry: string): Promise<readonly string[]> {
  return inFile(project, entry, async (input) => {
    const modules: string[] = []
    const plugin = {
      name: 'modules',
      moduleParsed: ({ id }: { readonly id: string }) => void modules.push(id),
    }
    await using build = await rolldown({ input, platform: 'browser', plugins: [plugin] })
    await build.generate({ codeSplitting: false })
    return modules
  })
}

function atOnceIn(output: readonly { readonly type: string }[]): number {
  const chunks = chunksOf(output)
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
  const loaded = new Set<OutputChunk>()
  const load = (chunk: OutputChunk | undefined) => {
    if (!chunk || loaded.has(chunk)) return
    loaded.add(chunk)
    for (const name of chunk.imports) load(byName.get(name))
  }
  load(chunks.find(({ isEntry }) => isEntry))
  return compressed([...loaded].map(({ code }) => code))
}

function chunksOf(output: readonly { readonly type: string }[]): OutputChunk[] {
  return output.filter((file): file is OutputChunk => file.type === 'chunk')
}

function compressed(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + gzipSync(text).length, 0)
}
