import { join } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import type { Surface } from './declarations/surface.ts'
import { recordedModule } from './recorded-module.ts'

const RECORDED = '\0recorded:'
const START = '\0start-recorder'

/** Bundles a module of the cases for a page. What it imports from the package goes through a recorder. */
export async function bundleCases(folder: string, module: string, surface: Surface): Promise<string> {
  await using build = await rolldown({
    input: join(folder, 'cases', module),
    platform: 'browser',
    plugins: [recording(folder, surface)],
    moduleTypes: { '.css': 'empty' },
    // Everything in a bundle runs in the client.
    onLog: (level, log, report) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && report(level, log),
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  })
  const { output } = await build.generate({ format: 'esm', codeSplitting: false })
  return output[0].code
}

function recording(folder: string, surface: Surface): Plugin {
  const entries = new Map(surface.entries.map((entry) => [entry.specifier, entry]))
  const isOfProgram = (importer = '') => !importer.includes('/node_modules/') && !importer.startsWith('\0')
  return {
    name: 'recording',
    resolveId(specifier, importer) {
      if (specifier === START) return START
      if (specifier === 'node:assert/strict') return join(folder, 'cases/pages/assert.ts')
      return entries.has(specifier) && isOfProgram(importer) ? RECORDED + specifier : null
    },
    async load(id) {
      if (id === START) return startOf(folder, surface)
      if (!id.startsWith(RECORDED)) return null
      const specifier = id.slice(RECORDED.length)
      const real = await this.resolve(specifier, join(folder, 'cases/main.ts'), { skipSelf: true })
      if (!real) throw new Error(`${specifier} is not installed`)
      return `import ${JSON.stringify(START)}\n${recordedModule(specifier, real.id, entries)}`
    },
  }
}

function startOf(folder: string, surface: Surface): string {
  const from = JSON.stringify(join(folder, 'start-recorder.ts'))
  return `import { startRecorder } from ${from}\nstartRecorder(${JSON.stringify(surface)})`
}
