import type { JsonValue } from '../core/index.ts'

export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A text as SQL of Postgres, whatever `standard_conforming_strings` says. */
export function literal(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

/** `null` for what is none: another program may have written it. */
export function parseJson(text: unknown): JsonValue {
  if (typeof text !== 'string') return null
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
