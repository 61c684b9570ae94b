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
/** Few enough that a page which is closed in mid-way sends only few of them twice. */
const DRAIN_RECORDS = 200

/**
 * Keeps records in one file of the origin while the server cannot be reached. All pages share the file; a Web
 * Lock lets one at a time at it.
 */
export function opfsBuffer(options: OpfsBufferOptions = {}): RecordBuffer {
  const { folder = DEFAULT_FOLDER, maxBytes = DEFAULT_MAX_BYTES } = options

  return {
    append: (records) =>
      alone(async (file) => {
        const lines = `${await textOf(file)}${records.map((record) => `${JSON.stringify(record)}\n`).join('')}`
        const excess = lines.length - maxBytes
        await replace(file, excess > 0 ? lines.slice(lines.indexOf('\n', excess - 1) + 1) : lines)
      }),
    drain: (take) =>
      alone(async (file) => {
        const lines = (await textOf(file)).split('\n').filter((line) => line !== '')
        while (lines.length > 0) {
          await take(lines.slice(0, DRAIN_RECORDS).flatMap(parse))
          lines.splice(0, DRAIN_RECORDS)
          await replace(file, lines.map((line) => `${line}\n`).join(''))
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
async function replace(file: FileSystemFileHandle, text: string): Promise<void> {
  const writable = await file.createWritable()
  await writable.write(text)
  await writable.close()
}

function parse(line: string): TelemetryRecord[] {
  try {
    const value: unknown = JSON.parse(line)
    return isRecord(value) ? [value] : []
  } catch {
    return []
  }
}
