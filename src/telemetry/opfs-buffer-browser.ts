import { expectOptions, expectText, expectWhole } from '../base/arguments.ts'
import type { RecordBuffer } from './http-batches.ts'
import { isRecord, parseLine, toLines } from './record.ts'

export interface OpfsBufferOptions {
  /** The folder in the origin private file system. Default `holdfast-telemetry`. */
  readonly folder?: string
  /** The largest size of the file. Beyond it the oldest records are dropped. Default 1 MiB. */
  readonly maxBytes?: number
}

const FILE = 'waiting.jsonl'
const DEFAULT_FOLDER = 'holdfast-telemetry'
const DEFAULT_MAX_BYTES = 2 ** 20
const NEWLINE = 0x0a
const utf8 = new TextEncoder()

/**
 * Keeps records in a file of the origin private file system while the server cannot be reached. All pages of the
 * origin share the file. A Web Lock lets only one page at a time use it.
 *
 * @example
 * httpSink('/telemetry', { buffer: opfsBuffer() })
 */
export function opfsBuffer(options: OpfsBufferOptions = {}): RecordBuffer {
  expectOptions(options, { folder: 1, maxBytes: 1 })
  const { folder = DEFAULT_FOLDER, maxBytes = DEFAULT_MAX_BYTES } = options
  expectText('folder', folder)
  expectWhole('maxBytes', maxBytes, 1)

  return {
    append: (records) =>
      withFile(async (file) => {
        const text = await textOf(file)
        const lines = utf8.encode(`${text}${text && !text.endsWith('\n') ? '\n' : ''}${toLines(records)}`)
        const excess = lines.length - maxBytes
        const end = excess > 0 ? lines.indexOf(NEWLINE, excess - 1) + 1 : 0
        await replace(file, lines.subarray(end))
        return lines.subarray(0, end).filter((byte) => byte === NEWLINE).length
      }),
    drain: (take) =>
      withFile(async (file) => {
        let records = (await textOf(file)).split('\n').map(parseLine).filter(isRecord)
        while (records.length > 0) {
          records = records.slice(await take(records))
          await replace(file, toLines(records))
        }
      }),
  }

  function withFile<T>(work: (file: FileSystemFileHandle) => Promise<T>): Promise<T> {
    return navigator.locks.request(`${folder}:${FILE}`, async () => {
      const root = await navigator.storage.getDirectory()
      const directory = await root.getDirectoryHandle(folder, { create: true })
      return work(await directory.getFileHandle(FILE, { create: true }))
    })
  }
}

async function textOf(file: FileSystemFileHandle): Promise<string> {
  return (await file.getFile()).text()
}

/** A writable stream changes the file only when it is closed. So a page that is killed leaves the old text. */
async function replace(file: FileSystemFileHandle, text: FileSystemWriteChunkType): Promise<void> {
  const writable = await file.createWritable()
  await writable.write(text)
  await writable.close()
}
