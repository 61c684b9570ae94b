export interface Measure {
  /** 64 bits as hexadecimal. */
  readonly checksum: string
  /** In UTF-8. */
  readonly bytes: number
}

/**
 * Two lanes of FNV-1a over the characters of a well-formed text. They find what is torn or damaged, and are no
 * protection against forgery. Unlike SHA-256 they need no copy of the text as bytes, which takes longer than all the
 * rest of preparing a save.
 */
export function measure(text: string): Measure {
  let first = 0x811c9dc5
  let second = 0x9747b28c
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    first = Math.imul(first ^ unit, 0x01000193)
    second = Math.imul(second ^ unit, 0x85ebca6b) ^ (second >>> 15)
    // Each half of a surrogate pair is half of four bytes.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit & 0xf800) !== 0xd800 ? 2 : 1
  }
  return { checksum: hex(first) + hex(second), bytes }
}

function hex(lane: number): string {
  return (lane >>> 0).toString(16).padStart(8, '0')
}
