const FINAL_TEXT = 0x81
const LENGTH_IN_TWO_BYTES = 126
const LENGTH_IN_EIGHT_BYTES = 127

/** Makes the frames that a server sends. A broadcast asks for the same one again and again, and gets it. */
export function frameMaker(): (text: string) => Buffer {
  let last = { text: '', frame: makeFrame('') }
  return (text) => {
    if (text !== last.text) last = { text, frame: makeFrame(text) }
    return last.frame
  }
}

function makeFrame(text: string): Buffer {
  const payload = Buffer.from(text)
  return Buffer.concat([headerOf(payload.length), payload])
}

function headerOf(length: number): Buffer {
  if (length < LENGTH_IN_TWO_BYTES) return Buffer.from([FINAL_TEXT, length])
  const header = Buffer.alloc(length < 65_536 ? 4 : 10, FINAL_TEXT)
  header[1] = length < 65_536 ? LENGTH_IN_TWO_BYTES : LENGTH_IN_EIGHT_BYTES
  if (length < 65_536) header.writeUInt16BE(length, 2)
  else header.writeBigUInt64BE(BigInt(length), 2)
  return header
}
