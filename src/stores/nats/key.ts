/** Names as keys of a bucket, whose alphabet is small: `invoice:42` is kept under `lease.invoice=3A42`. */
const LEASE = 'lease.'
export const EVERY_LEASE = 'lease.>'
export const EVERY_KEY = '>'
export const CLOCK = 'clock'
const FLOOR = 'floor'

export function keyOf(name: string): string {
  if (name === '') return FLOOR
  const hex = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  const encoded = encodeURIComponent(name).replace(/[.!~*'()]/g, hex)
  return LEASE + encoded.replaceAll('%', '=')
}

/** `null` for a key that stands for no name. */
export function nameOf(key: string): string | null {
  if (key === FLOOR) return ''
  try {
    const name = decodeURIComponent(key.slice(LEASE.length).replaceAll('=', '%'))
    return keyOf(name) === key ? name : null
  } catch {
    return null
  }
}
