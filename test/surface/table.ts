import { BACKENDS, type BackendName, belongsTo, COLUMNS } from './columns.ts'
import { type Surface, type Uses, usesOf } from './declarations/surface.ts'
import type { Result } from './run-cases.ts'

type Results = ReadonlyMap<BackendName, Result>

/** What was not used on a backend of an entry: calls, calls with default options, and options. */
export function missingIn(specifier: string, surface: Surface, results: Results): string[] {
  const entry = surface.entries.find((one) => one.specifier === specifier)
  if (!entry) return [`${specifier} is not exported`]
  const uses = usesOf(entry, surface)
  return (COLUMNS[specifier] ?? []).flatMap((backend) => {
    const result = results.get(backend)
    const calls = [...uses.calls].flatMap((name) => problemsOf(name, uses, backend, result))
    const options = [...uses.options].filter((name) => isMissing(name, result?.options, backend, result))
    return [...calls, ...options].map((name) => `${name} is not used on ${backend}`)
  })
}

/** A row for each function and method, a column for each backend: used, not there, or missing. */
export function tableOf(surface: Surface, results: Results): string[] {
  const width = 46
  const head = ['function'.padEnd(width), ...BACKENDS].join(' ')
  const seen = new Set<string>()
  const lines = surface.entries.flatMap((entry) => {
    const uses = usesOf(entry, surface)
    const names = [...uses.calls].filter((name) => !seen.has(name))
    for (const name of names) seen.add(name)
    if (!COLUMNS[entry.specifier]) return []
    const rows = names.map((name) => {
      const cells = BACKENDS.map((backend) =>
        cellOf(name, uses, surface, backend, results).padEnd(backend.length),
      )
      return [`  ${name}`.padEnd(width), ...cells].join(' ')
    })
    return rows.length > 0 ? [entry.specifier, ...rows] : []
  })
  return [head, ...lines, '', '✓ used, also with default options   – not on this backend   ✗ missing']
}

function cellOf(name: string, uses: Uses, surface: Surface, backend: BackendName, results: Results): string {
  const applies = surface.entries.some(
    (entry) => COLUMNS[entry.specifier]?.includes(backend) && usesOf(entry, surface).calls.has(name),
  )
  const result = results.get(backend)
  if (!applies || !belongsTo(name, backend)) return '–'
  if (!result?.calls.includes(name) && result?.absent.includes(name)) return '–'
  return problemsOf(name, uses, backend, result).length === 0 ? '✓' : '✗'
}

function problemsOf(name: string, uses: Uses, backend: BackendName, result: Result | undefined): string[] {
  if (isMissing(name, result?.calls, backend, result)) return [`${name}()`]
  if (!uses.withDefaults.has(name)) return []
  return isMissing(name, result?.defaults, backend, result) ? [`${name}() with default options`] : []
}

function isMissing(
  name: string,
  used: readonly string[] = [],
  backend: BackendName,
  result: Result | undefined,
): boolean {
  return belongsTo(name, backend) && !used.includes(name) && !result?.absent.includes(name)
}
