import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compileProject, run } from '../package/packed.ts'
import type { Result } from './cases/run-each.ts'
import type { BackendName } from './columns.ts'
import type { Surface } from './declarations/surface.ts'

/** The files that the cases need, and no others: they import the package by its name, as installed. */
const FILES = [
  ...['cases', 'declarations/type.ts', 'recorder.ts', 'recorded-module.ts', 'record-imports.ts'],
  'start-recorder.ts',
]

/** Copies the cases into the project that has installed the package. Returns their folder. */
export async function copyCases(consumer: string, surface: Surface): Promise<string> {
  const folder = join(consumer, 'surface')
  await mkdir(join(folder, 'declarations'), { recursive: true })
  for (const file of FILES) await cp(join(import.meta.dirname, file), join(folder, file), { recursive: true })
  await writeFile(join(folder, 'surface.json'), JSON.stringify(surface))
  return folder
}

/** Compiles the cases with the types of the installed package. Rejects with the errors. */
export async function compileCases(folder: string): Promise<void> {
  const compilerOptions = {
    ...{
      module: 'NodeNext',
      target: 'ES2023',
      lib: ['ES2024', 'ESNext.Disposable', 'DOM', 'DOM.AsyncIterable'],
    },
    ...{
      types: ['node'],
      jsx: 'react-jsx',
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
    },
    ...{ allowImportingTsExtensions: true, noEmit: true, skipLibCheck: true },
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['cases'] }))
  await compileProject(folder)
}

/** Runs the cases of one backend in a process of their own. It has to end by itself. */
export async function runCases(folder: string, backend: BackendName): Promise<Result> {
  const output = join(folder, `${backend}.json`)
  await run(
    folder,
    ...['env', `HOLDFAST_SURFACE=${join(folder, 'surface.json')}`],
    ...['node', '--import', './record-imports.ts', 'cases/main.ts', backend, output],
  )
  return JSON.parse(await readFile(output, 'utf8'))
}
