import type { Result } from './cases/run-each.ts'
import { BACKENDS, type BackendName, belongsTo, COLUMNS } from './columns.ts'
import { type Entry, type Surface, type Uses, usesOf } from './declarations/surface.ts'

type Results = ReadonlyMap<BackendName, Result>

/** What was not used on a backend of an entry: calls, calls with default options, and options. */
export function missingIn(specifier: string, surface: Surface, results: Results): string[] {
  const entry = surface.entries.find((one) => one.specifier === specifier)
  if (!entry) return [`${specifier} is not exported`]
  return (COLUMNS[specifier] ?? []).flatMap((backend) => {
    const result = results.get(backend)
    if (!result) return [`no case ran on ${backend}`]
    const uses = usesOn(entry, surface, backend)
    const calls = [...uses.calls].flatMap((name) => problemsOf(name, uses, result))
    const options = [...uses.options].filter((name) => isMissing(name, result.options, result))
    return [...calls, ...options].map((name) => `${name} is not used on ${backend}`)
  })
}

/** A row for each function and method, a column for each backend: used, not there, or missing. */
export function tableOf(surface: Surface, results: Results): string[] {
  const rows = new Map<string, Map<BackendName, string>>()
  const headings = new Map<string, string>()
  for (const entry of surface.entries)
    for (const backend of COLUMNS[entry.specifier] ?? []) {
      const uses = usesOn(entry, surface, backend)
      for (const name of uses.calls) {
        if (!headings.has(name)) headings.set(name, entry.specifier)
        const row = rows.get(name) ?? new Map<BackendName, string>()
        rows.set(name, row.set(backend, cellOf(name, uses, results.get(backend))))
      }
    }
  const width = Math.max(...Array.from(rows.keys(), (name) => name.length)) + 3
  const lines = Array.from(Map.groupBy(rows, ([name]) => headings.get(name) ?? '')).flatMap(
    ([specifier, group]) => [
      specifier,
      ...group.map(([name, row]) => {
        const cells = BACKENDS.map((backend) => (row.get(backend) ?? '–').padEnd(backend.length))
        return [`  ${name}`.padEnd(width), ...cells].join(' ')
      }),
    ],
  )
  const legend = '✓ used, also with default options   – not on this backend   ✗ missing'
  return [['function'.padEnd(width), ...BACKENDS].join(' '), ...lines, '', legend]
}

function usesOn(entry: Entry, surface: Surface, backend: BackendName): Uses {
  return usesOf(entry, surface, (value) => belongsTo(value, backend))
}

function cellOf(name: string, uses: Uses, result: Result | undefined): string {
  if (!result) return '✗'
  if (!result.calls.includes(name) && result.absent.includes(name)) return '–'
  return problemsOf(name, uses, result).length === 0 ? '✓' : '✗'
}

function problemsOf(name: string, uses: Uses, result: Result): string[] {
  if (isMissing(name, result.calls, result)) return [`${name}()`]
  if (!uses.withDefaults.has(name)) return []
  return isMissing(name, result.defaults, result) ? [`${name}() with default options`] : []
}

function isMissing(name: string, used: readonly string[], { absent }: Result): boolean {
  return !used.includes(name) && !absent.includes(name)
}
