/** What came in place of a client, for an error. A text is not shown: it may be an address with a password. */
export function whatCame(value: unknown): string {
  if (typeof value === 'string') return 'a string'
  if (Object(value) !== value) return String(value)
  const name = (value as object).constructor?.name || 'Object'
  if (name === 'Object') return 'an object'
  return /^[AEIOU]/.test(name) ? `an ${name}` : `a ${name}`
}
