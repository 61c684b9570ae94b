import type { RecordBuffer } from './http-sink.ts'
import type { TelemetryRecord } from './record.ts'
import { isRecord } from './validate.ts'

export interface OpfsBufferOptions {
  /** The folder in the origin private file system. Default `holdfast-telemetry`. */
  readonly folder?: string
  /** Beyond it the oldest records go. Default 1 MiB. */
  readonly maxBytes?: number
}

const FILE = 'waiting.jsonl'
const DEFAULT_FOLDER = 'holdfast-telemetry'
const DEFAULT_MAX_BYTES = 2 ** 20
const NEWLINE = 0x0a
const utf8 = new TextEncoder()

/**
 * Keeps records in one file of the origin while the server cannot be reached. All pages share the file; a Web
 * Lock lets one at a time at it.
 */
export function opfsBuffer(options: OpfsBufferOptions = {}): RecordBuffer {
  const { folder = DEFAULT_FOLDER, maxBytes = DEFAULT_MAX_BYTES } = options

  return {
    append: (records) =>
      alone(async (file) => {
        const lines = utf8.encode(`${await textOf(file)}${linesOf(records)}`)
        const excess = lines.length - maxBytes
        await replace(file, excess > 0 ? lines.subarray(lines.indexOf(NEWLINE, excess - 1) + 1) : lines)
      }),
    drain: (take) =>
      alone(async (file) => {
        let records = (await textOf(file)).split('\n').flatMap(parse)
        while (records.length > 0) {
          records = records.slice(await take(records))
          await replace(file, linesOf(records))
        }
      }),
  }

  function alone(work: (file: FileSystemFileHandle) => Promise<void>): Promise<void> {
    return navigator.locks.request(`${folder}:${FILE}`, async () => {
      const root = await navigator.storage.getDirectory()
      const directory = await root.getDirectoryHandle(folder, { create: true })
      await work(await directory.getFileHandle(FILE, { create: true }))
    })
  }
}

async function textOf(file: FileSystemFileHandle): Promise<string> {
  return (await file.getFile()).text()
}

/** A writable stream works on a copy until it is closed, so a page that dies leaves the old text. */
async function replace(file: FileSystemFileHandle, text: FileSystemWriteChunkType): Promise<void> {
  const writable = await file.createWritable()
  await writable.write(text)
  await writable.close()
}

function linesOf(records: readonly TelemetryRecord[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('')
}

function parse(line: string): TelemetryRecord[] {
  try {
    const value: unknown = JSON.parse(line)
    return isRecord(value) ? [value] : []
  } catch {
    return []
  }
}
