/** What `collect`, `score` and `report` share: their result, the reading of lines, and problems with files. */
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { expectText, refuse } from '../base/arguments.ts'
import { LeaseError, messageOf } from '../base/errors.ts'
import { CHUNK_BYTES, MAX_LINE_LENGTH } from './options.ts'

/** The output and the exit code of a command. With `json`, `stdout` is one JSON document. */
export interface MonitorResult {
  /**
   * 0: healthy or done. 1: a rollback is required (`score`), or an alert was not delivered or the log of incidents
   * is damaged (`report`). 2: bad input.
   */
  readonly exitCode: 0 | 1 | 2
  readonly stdout: string
  readonly stderr: string
}

/** Exit code 2 if the work fails because of a file or a setting that the user named. */
export async function reportBadInput(work: () => Promise<MonitorResult>): Promise<MonitorResult> {
  try {
    return await work()
  } catch (error) {
    const problem = inputProblem(error)
    if (problem === undefined) throw error
    return { exitCode: 2, stdout: '', stderr: `${problem}\n` }
  }
}

function inputProblem(error: unknown): string | undefined {
  if (error instanceof LeaseError) return error.code === 'invalid-argument' ? error.message : undefined
  const { path } = Object(error) as NodeJS.ErrnoException
  return path === undefined ? undefined : fileProblem(path, error)
}

export function expectFiles(option: string, value: unknown): void {
  if (!Array.isArray(value)) refuse(option, 'an array of paths', value)
  for (const [index, file] of value.entries()) expectText(`${option}[${index}]`, file)
}

export function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** Lines are numbered from 1. */
export interface LineListener {
  onLine(line: string, number: number): void
  /** A line was too long. It was skipped. */
  onHuge(number: number): void
  /** The last line has no line break. Its number is unknown if a compressed file is incomplete. */
  onLastLine(line: string, number?: number): void
  /** This many bytes of the file were read. */
  onBytes?(count: number): void
}

/** Reads a file line by line and decompresses `.gz`. An incomplete compressed file is read up to its end. */
export async function readFileLines(path: string, listener: LineListener): Promise<void> {
  const file = createReadStream(path, { highWaterMark: CHUNK_BYTES })
  file.on('data', (chunk) => listener.onBytes?.(chunk.length))
  const read = (chunks: AsyncIterable<Uint8Array | string>) => readLines(chunks, listener)
  if (!path.endsWith('.gz')) return pipeline(file, read)
  try {
    await pipeline(file, createGunzip({ chunkSize: CHUNK_BYTES }), read)
  } catch (error) {
    if (!(error as NodeJS.ErrnoException).code?.startsWith('Z_')) throw error
    listener.onLastLine('')
  }
}

/** Needs constant memory, also for very long lines. */
export async function readLines(
  chunks: AsyncIterable<Uint8Array | string>,
  { onLine, onHuge, onLastLine }: LineListener,
): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  let skipping = false
  let number = 1
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
  if (skipping) onHuge(number)
  else if (rest.trim() !== '') onLastLine(rest, number)

  function endLine(line: string): void {
    if (skipping || line.length > MAX_LINE_LENGTH) onHuge(number)
    else if (line !== '') onLine(line, number)
    skipping = false
    number++
  }
}

const FILE_PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a file is where a folder should be',
  EEXIST: 'a file is where a folder should be',
  EISDIR: 'this is a folder, not a file',
  EACCES: 'you may not read or write it',
}

/** Describes the problem with a file that the user named. */
function fileProblem(path: string, error: unknown): string {
  const { code = '' } = Object(error) as NodeJS.ErrnoException
  return `${path}: ${FILE_PROBLEMS[code] ?? messageOf(error)}`
}

export function refuseFile(path: string, cause: unknown): never {
  throw new LeaseError('invalid-argument', fileProblem(path, cause), { cause })
}
