/** In a bundle for pages, in place of `show.ts`: it does not name the class of an object. */
const LONGEST_SHOWN = 60

export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, LONGEST_SHOWN))
  return Object(value) === value ? typeof value : String(value)
}
