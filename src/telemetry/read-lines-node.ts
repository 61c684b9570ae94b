import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'

const CHUNK_BYTES = 2 ** 16
/** No line of telemetry comes near it. */
const MAX_LINE_LENGTH = 2 ** 16

export interface LineListener {
  onLine(line: string): void
  /** A line was too long; it was not kept. */
  onHuge(): void
  /** The input ended in mid-line. */
  onTorn(line: string): void
  /** So many bytes were read, compressed or not. */
  onBytes?(count: number): void
}

/** Reads a file line by line; `.gz` is unpacked. A compressed file that was cut off gives what it has. */
export async function readFileLines(path: string, listener: LineListener): Promise<void> {
  const file = createReadStream(path, { highWaterMark: CHUNK_BYTES })
  file.on('data', (chunk) => listener.onBytes?.(chunk.length))
  const read = (chunks: AsyncIterable<Uint8Array | string>) => readLines(chunks, listener)
  if (!path.endsWith('.gz')) return pipeline(file, read)
  try {
    await pipeline(file, createGunzip({ chunkSize: CHUNK_BYTES }), read)
  } catch (error) {
    if (!(error as NodeJS.ErrnoException).code?.startsWith('Z_')) throw error
    listener.onTorn('')
  }
}

/** In constant memory, however long a line is. */
export async function readLines(
  chunks: AsyncIterable<Uint8Array | string>,
  { onLine, onHuge, onTorn }: LineListener,
): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  let skipping = false
  for await (const chunk of chunks) {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    const lines = text.split('\n')
    const last = lines.pop() ?? ''
    for (const line of lines) {
      endLine(rest + line)
      rest = ''
    }
    rest += last
    if (rest.length > MAX_LINE_LENGTH) {
      rest = ''
      skipping = true
    }
  }
  if (skipping) onHuge()
  else if (rest.trim() !== '') onTorn(rest)

  function endLine(line: string): void {
    if (skipping || line.length > MAX_LINE_LENGTH) onHuge()
    else if (line !== '') onLine(line)
    skipping = false
  }
}
