/**
 * Telemetry files in a folder, one set per day: `2030-01-01.<writer>.<part>.jsonl`. A writer never appends to a file
 * of another writer. So a line that a crash cut off is always the last line of its file. Writes are synchronous: they
 * are few and large, and no write is unfinished when the process is told to end.
 */

import {
  closeSync,
  createReadStream,
  createWriteStream,
  type Dirent,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  writeSync,
} from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { expectFunction, expectMethods, expectOptions, expectText, expectWhole } from '../base/arguments.ts'
import { systemClock } from '../base/clock.ts'
import { notify } from '../base/notify.ts'
import { randomId } from '../base/random-id.ts'
import { compareUtf8 } from '../base/utf8-order.ts'
import type { Sink } from './collector.ts'
import {
  type FileSinkOptions,
  MAX_FILE_BYTES,
  MAX_TOTAL_BYTES,
  PARTIAL_FILE_MS,
  UNCHANGED_MS,
  WRITER_LENGTH,
} from './options.ts'
import { type TelemetryRecord, toLines } from './record.ts'

export interface FileSink extends Sink, AsyncDisposable {
  /** The lines are in the file when the call returns. */
  write(records: readonly TelemetryRecord[]): void
  close(): Promise<void>
}

interface OpenFile {
  readonly descriptor: number
  readonly day: string
}

/**
 * Writes each record as a JSON line into a folder. Files of past days are compressed.
 *
 * @example
 * const collector = createCollector({ sinks: [fileSink('telemetry')] })
 */
export function fileSink(directory: string, options: FileSinkOptions = {}): FileSink {
  expectText('directory', directory)
  expectOptions(options, { maxFileBytes: 1, maxTotalBytes: 1, clock: 1, onError: 1 })
  const {
    maxFileBytes = MAX_FILE_BYTES,
    maxTotalBytes = MAX_TOTAL_BYTES,
    clock = systemClock,
    onError,
  } = options
  expectWhole('maxFileBytes', maxFileBytes, 1)
  expectWhole('maxTotalBytes', maxTotalBytes, 1)
  expectMethods('clock', clock, 'a Clock', 'now')
  if (onError !== undefined) expectFunction('onError', onError as unknown)
  const writer = randomId().slice(0, WRITER_LENGTH)
  let part = 0
  let file: OpenFile | undefined
  let tidying = Promise.resolve()

  const sink: FileSink = {
    write(records) {
      const text = Buffer.from(toLines(records))
      const { descriptor } = fileFor(new Date(clock.now()).toISOString().slice(0, 10))
      const { size } = fstatSync(descriptor)
      try {
        for (let done = 0; done < text.length; ) done += writeSync(descriptor, text, done)
      } catch (error) {
        // The caller sends these records again, so no part of them may stay in the file.
        if (!truncate(descriptor, size)) closeFile()
        throw error
      }
    },
    async close() {
      closeFile()
      await tidying
    },
    [Symbol.asyncDispose]: () => sink.close(),
  }
  return sink

  function fileFor(day: string): OpenFile {
    if (file?.day === day && isUsable(file)) return file
    closeFile()
    mkdirSync(directory, { recursive: true })
    const path = join(directory, `${day}.${writer}.${String(++part).padStart(3, '0')}.jsonl`)
    file = { descriptor: openSync(path, 'ax'), day }
    tidying = tidying
      .then(() => tidyUp(directory, { day, maxTotalBytes, now: clock.now() }))
      .catch((error) => notify(onError, error))
    return file
  }

  /** Another process may have deleted the file to make room. Writes would still succeed, but nobody could read them. */
  function isUsable({ descriptor }: OpenFile): boolean {
    const { nlink, size } = fstatSync(descriptor)
    return nlink > 0 && size < maxFileBytes
  }

  function closeFile(): void {
    if (file) closeSync(file.descriptor)
    file = undefined
  }
}

/** False: the file may end with a part of a line. */
function truncate(descriptor: number, size: number): boolean {
  try {
    ftruncateSync(descriptor, size)
    return true
  } catch {
    return false
  }
}

/** Only these files are read, compressed and deleted. Other files in the folder are never touched. */
const TELEMETRY_FILE = /^(\d{4}-\d\d-\d\d)\.[\da-f]{8}\.\d{3,}\.jsonl(\.gz)?$/
/** The rest of an interrupted compression. */
const PARTIAL_FILE = /^\d{4}-\d\d-\d\d\.[\da-f]{8}\.\d{3,}\.jsonl\.gz\.[\da-f]{8}\.part$/

/** The paths of the telemetry files in a folder, oldest day first. */
export async function telemetryFiles(directory: string): Promise<string[]> {
  const names = new Set(namesOf(await readdir(directory, { withFileTypes: true }), TELEMETRY_FILE))
  // For a moment a compressed file and its original exist together.
  for (const name of names) names.delete(`${name}.gz`)
  return [...names].map((name) => join(directory, name))
}

interface TidyOptions {
  readonly day: string
  readonly maxTotalBytes: number
  readonly now: number
}

/** Compresses the files of past days, and deletes the oldest files while all together are too large. */
async function tidyUp(directory: string, { day, maxTotalBytes, now }: TidyOptions): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true })
  for (const name of namesOf(entries, PARTIAL_FILE)) {
    const path = join(directory, name)
    if (now - (await changedAt(path)) > PARTIAL_FILE_MS) await rm(path, { force: true })
  }
  for (const name of namesOf(entries, TELEMETRY_FILE)) {
    const path = join(directory, name)
    const isPast = name.slice(0, 10) < day && !name.endsWith('.gz')
    if (isPast && now - (await changedAt(path)) > UNCHANGED_MS) await compress(path)
  }
  await deleteOldest(directory, maxTotalBytes)
}

function namesOf(entries: readonly Dirent[], pattern: RegExp): string[] {
  return entries
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map(({ name }) => name)
    .toSorted()
}

/** Two processes may compress the same file: each writes its own partial file, and both have the same content. */
async function compress(path: string): Promise<void> {
  const partial = `${path}.gz.${randomId().slice(0, 8)}.part`
  try {
    await pipeline(createReadStream(path), createGzip(), createWriteStream(partial))
    await rename(partial, `${path}.gz`)
    await rm(path, { force: true })
  } catch (error) {
    await rm(partial, { force: true })
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

async function deleteOldest(directory: string, maxTotalBytes: number): Promise<void> {
  const paths = await telemetryFiles(directory)
  const files = await Promise.all(
    paths.map(async (path) => {
      const { size = 0, mtimeMs = 0 } = (await statIfPresent(path)) ?? {}
      return { path, day: basename(path).slice(0, 10), size, mtimeMs }
    }),
  )
  // The names of files of one day do not say which is older, so the time of the last write decides.
  files.sort((a, b) => compareUtf8(a.day, b.day) || a.mtimeMs - b.mtimeMs)
  let total = files.reduce((sum, { size }) => sum + size, 0)
  for (const { path, size } of files.slice(0, -1)) {
    if (total <= maxTotalBytes) return
    await rm(path, { force: true })
    total -= size
  }
}

async function changedAt(path: string): Promise<number> {
  return (await statIfPresent(path))?.mtimeMs ?? Number.POSITIVE_INFINITY
}

/** Another process may have deleted the file. */
function statIfPresent(path: string) {
  return stat(path).catch(() => undefined)
}
