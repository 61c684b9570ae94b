/** Throws unless what is read again is the same to a program as what was accepted. */
export function expectComesBack(accepted: unknown, readAgain: () => unknown): void {
  let texts: readonly [string, string]
  try {
    texts = [written(readAgain()), written(accepted)]
  } catch (error) {
    // `JSON.parse` reads deeper nesting than `JSON.stringify` can write.
    if (error instanceof RangeError && error.message.includes('call stack')) return
    throw error
  }
  const [again, first] = texts.map((text) => text.slice(0, 1000))
  if (texts[0] !== texts[1]) throw new Error(`it was accepted as ${first} and comes back as ${again}`)
}

/** JSON has neither -0 nor infinity, and a field may be missing or `undefined`. */
function written(value: unknown): string {
  return JSON.stringify(value, (_, part) => (part instanceof Map ? [...part] : part))
}
