/**
 * In the order of UTF-8 bytes, as Redis and Postgres sort. UTF-16 puts surrogate pairs before the end of the basic plane.
 *
 * @example
 * names.sort(compareUtf8)
 */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)]
    if (x !== y) return byteOrder(x) - byteOrder(y)
  }
  return a.length - b.length
}

function byteOrder(unit: number): number {
  if (unit >= 0xe000) return unit - 0x800
  return unit >= 0xd800 ? unit + 0x2000 : unit
}
