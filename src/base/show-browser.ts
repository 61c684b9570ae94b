import { LONGEST_SHOWN } from './options.ts'

export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, LONGEST_SHOWN))
  return Object(value) === value ? typeof value : String(value)
}
