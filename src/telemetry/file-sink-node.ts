/**
 * Lines in files of one day each: `2030-01-01.<writer>.<part>.jsonl`. A writer never appends to a file that
 * another has begun, so a line that a crash has torn stays the last one of its file. Writes are synchronous:
 * they are few and large, and nothing is under way when the process is told to end.
 */
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, systemClock } from '../core/index.ts'
import type { Sink } from './outbox.ts'
import { tidyUp } from './retention-node.ts'

export interface FileSinkOptions {
  /** A file that grows beyond it is followed by another part. Default 64 MiB. */
  readonly maxFileBytes?: number
  /** When all files together exceed it, the oldest are deleted. Default 1 GiB. */
  readonly maxTotalBytes?: number
  readonly clock?: Clock
  /** Told when old files could not be compressed or deleted. The lines are written all the same. */
  readonly onError?: (error: unknown) => void
}

interface OpenFile {
  readonly descriptor: number
  readonly day: string
  bytes: number
}

const MiB = 2 ** 20

/**
 * Writes one JSON line a record into a folder; files of past days are compressed.
 *
 * @example
 * const collector = createCollector({ sinks: [fileSink('telemetry')] })
 */
export function fileSink(directory: string, options: FileSinkOptions = {}): Sink {
  const { maxFileBytes = 64 * MiB, maxTotalBytes = 1024 * MiB, clock = systemClock } = options
  const { onError = () => {} } = options
  const writer = crypto.randomUUID().slice(0, 8)
  let part = 0
  let file: OpenFile | undefined
  let tidying = Promise.resolve()

  return {
    write(records) {
      const text = Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''))
      const current = fileFor(new Date(clock.now()).toISOString().slice(0, 10))
      try {
        for (let done = 0; done < text.length; ) done += writeSync(current.descriptor, text, done)
        current.bytes += text.length
      } catch (error) {
        // The records will come again: a part of them must not stay.
        ftruncateSync(current.descriptor, current.bytes)
        throw error
      }
    },
    async close() {
      closeFile()
      await tidying
    },
  }

  function fileFor(day: string): OpenFile {
    if (file?.day === day && file.bytes < maxFileBytes && isThere(file)) return file
    closeFile()
    mkdirSync(directory, { recursive: true })
    const path = join(directory, `${day}.${writer}.${String(++part).padStart(3, '0')}.jsonl`)
    file = { descriptor: openSync(path, 'ax'), day, bytes: 0 }
    tidying = tidying.then(() => tidyUp(directory, { day, maxTotalBytes, now: clock.now() })).catch(onError)
    return file
  }

  function closeFile(): void {
    if (file) closeSync(file.descriptor)
    file = undefined
  }
}

/** Another process that needs room may have deleted it: it can be written to still, but never read. */
function isThere({ descriptor }: OpenFile): boolean {
  return fstatSync(descriptor).nlink > 0
}
