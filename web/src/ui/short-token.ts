/** The last digits tell the tokens on one page apart: they count milliseconds, and requests within one. */
const SHORT = 7

export function shortToken(token: number): string {
  const digits = String(token)
  return digits.length <= SHORT + 1 ? digits : `…${digits.slice(-SHORT)}`
}
