import type { Entry } from './declarations/surface.ts'

/** The code of a module that exports the values of `real`, an address, through the recorder of this program. */
export function recordedModule(specifier: string, real: string, entries: ReadonlyMap<string, Entry>): string {
  const names = Object.keys(entries.get(specifier)?.values ?? {})
  const lines = names.map(
    (name) => `export const ${name} = holdfastRecorder.give(real.${name}, values[${JSON.stringify(name)}])`,
  )
  return [
    `import * as real from ${JSON.stringify(real)}`,
    `const { values } = holdfastEntries.get(${JSON.stringify(specifier)})`,
    ...lines,
  ].join('\n')
}
