import { expectOptions, expectText, expectWhole } from '../base/arguments.ts'
import { systemClock } from '../base/clock.ts'
import { privateDirectory } from '../base/private-directory-browser.ts'
import { randomId } from '../base/random-id.ts'
import type { RecordBuffer } from './http-batches.ts'
import { LEFT_AFTER_MS, MAX_BUFFER_BYTES, type OpfsBufferOptions } from './options.ts'
import { isRecord, parseLine, toLines } from './record.ts'

const SHARED_FILE = 'waiting.jsonl'
const DEFAULT_FOLDER = 'holdfast-telemetry'
const NEWLINE = 0x0a
const utf8 = new TextEncoder()

/**
 * Keeps records in a file of the origin private file system while the server cannot be reached. All pages of the
 * origin share the file, and a Web Lock lets only one page at a time use it. In a browser without Web Locks, each page
 * has a file of its own, and sends also what pages have left behind.
 *
 * @example
 * httpSink('/telemetry', { buffer: opfsBuffer() })
 */
export function opfsBuffer(options: OpfsBufferOptions = {}): RecordBuffer {
  expectOptions(options, { folder: 1, maxBytes: 1 })
  const { folder = DEFAULT_FOLDER, maxBytes = MAX_BUFFER_BYTES } = options
  expectText('folder', folder)
  expectWhole('maxBytes', maxBytes, 1)

  const locks: LockManager | undefined = globalThis.navigator?.locks
  const own = locks ? SHARED_FILE : `waiting-${randomId()}.jsonl`
  let last: Promise<unknown> = Promise.resolve()

  return {
    append: (records) =>
      inTurn(async (directory) => {
        const file = await directory.getFileHandle(own, { create: true })
        const text = await textOf(file)
        const lines = utf8.encode(`${text}${text && !text.endsWith('\n') ? '\n' : ''}${toLines(records)}`)
        const excess = lines.length - maxBytes
        const end = excess > 0 ? lines.indexOf(NEWLINE, excess - 1) + 1 : 0
        await replace(file, lines.subarray(end))
        return lines.subarray(0, end).filter((byte) => byte === NEWLINE).length
      }),
    drain: (take) =>
      inTurn(async (directory) => {
        for await (const [name, file] of directory.entries()) {
          if (file.kind !== 'file' || !(name === own || (await isLeft(name, file as FileSystemFileHandle))))
            continue
          await drainFile(file as FileSystemFileHandle, take)
          if (name !== own) await directory.removeEntry(name)
        }
      }),
  }

  function inTurn<T>(work: (directory: FileSystemDirectoryHandle) => Promise<T>): Promise<T> {
    const run = async () =>
      work(await (await privateDirectory()).getDirectoryHandle(folder, { create: true }))
    if (locks) return locks.request(`${folder}:${SHARED_FILE}`, run)
    const done = last.then(run)
    last = done.catch(() => {})
    return done
  }
}

/** Whether the page of this file is probably gone. If it is not, its records may be sent twice. */
async function isLeft(name: string, file: FileSystemFileHandle): Promise<boolean> {
  return name.startsWith('waiting') && systemClock.now() - (await file.getFile()).lastModified > LEFT_AFTER_MS
}

async function drainFile(
  file: FileSystemFileHandle,
  take: Parameters<RecordBuffer['drain']>[0],
): Promise<void> {
  let records = (await textOf(file)).split('\n').map(parseLine).filter(isRecord)
  while (records.length > 0) {
    records = records.slice(await take(records))
    await replace(file, toLines(records))
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
