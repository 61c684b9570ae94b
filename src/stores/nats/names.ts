/** Names as keys of a bucket, whose alphabet is small: the key of `invoice:42` is `lease.invoice=3A42`. */
const LEASE = 'lease.'
const FLOOR = 'floor'
/** The key that is written to read the server's clock. */
export const CLOCK = 'clock'
export const EVERY_LEASE = 'lease.>'
export const EVERY_KEY = '>'

export function keyOf(name: string): string {
  return name === '' ? FLOOR : LEASE + encodeName(name)
}

/** A name in the alphabet of a key, without points. */
export function encodeName(name: string): string {
  const hex = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(name)
    .replace(/[.!~*'()]/g, hex)
    .replaceAll('%', '=')
}

/** `null`: the key of another program. */
export function nameOf(key: string): string | null {
  if (key === FLOOR) return ''
  try {
    const name = decodeURIComponent(key.slice(LEASE.length).replaceAll('=', '%'))
    return keyOf(name) === key ? name : null
  } catch {
    return null
  }
}
