/**
 * Loaded before a program (`node --import`): every `import … from 'holdfast/…'` of the program goes through a recorder.
 * `HOLDFAST_SURFACE` names the file with the declarations.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import type { Surface } from './declarations/surface.ts'
import { recordedModule } from './recorded-module.ts'
import { startRecorder } from './start-recorder.ts'

const SCHEME = 'recorded:'
const { HOLDFAST_SURFACE = '' } = process.env
const surface: Surface = JSON.parse(readFileSync(HOLDFAST_SURFACE, 'utf8'))
const entries = startRecorder(surface)

registerHooks({
  resolve(specifier, context, next) {
    const isOfProgram =
      !context.parentURL?.includes('/node_modules/') && !context.parentURL?.startsWith(SCHEME)
    if (!entries.has(specifier) || !isOfProgram) return next(specifier, context)
    return { url: `${SCHEME}${next(specifier, context).url}#${specifier}`, shortCircuit: true }
  },
  load(url, context, next) {
    if (!url.startsWith(SCHEME)) return next(url, context)
    const [real = '', specifier = ''] = url.slice(SCHEME.length).split('#')
    return { format: 'module', source: recordedModule(specifier, real, entries), shortCircuit: true }
  },
})
