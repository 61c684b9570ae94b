import { createReadStream, createWriteStream, type Dirent } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

/** Files of telemetry, and nothing else: whatever else lies in the folder is neither read nor touched. */
const TELEMETRY_FILE = /^(\d{4}-\d\d-\d\d)\.[\da-f]{8}\.\d{3,}\.jsonl(\.gz)?$/
/** What a compression that was cut off has left. */
const HALF_FILE = /^\d{4}-\d\d-\d\d\.[\da-f]{8}\.\d{3,}\.jsonl\.gz\.[\da-f]{8}\.part$/
/** Another process may still be writing the last lines of yesterday. */
const QUIET_MS = 60_000
const HALF_FILE_MS = 3_600_000

interface Keeping {
  readonly day: string
  readonly maxTotalBytes: number
  readonly now: number
}

/** Paths of the files of telemetry in a folder, oldest day first. */
export async function telemetryFiles(directory: string): Promise<string[]> {
  const names = new Set(namesOf(await readdir(directory, { withFileTypes: true }), TELEMETRY_FILE))
  // Until the plain file is removed, both are there.
  for (const name of names) names.delete(`${name}.gz`)
  return [...names].map((name) => join(directory, name))
}

/** Compresses the files of past days, and deletes the oldest ones while there is too much. */
export async function tidyUp(directory: string, { day, maxTotalBytes, now }: Keeping): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true })
  for (const name of namesOf(entries, HALF_FILE)) {
    const path = join(directory, name)
    if (now - (await changedAt(path)) > HALF_FILE_MS) await rm(path, { force: true })
  }
  for (const name of namesOf(entries, TELEMETRY_FILE)) {
    const path = join(directory, name)
    const isPast = name.slice(0, 10) < day && !name.endsWith('.gz')
    if (isPast && now - (await changedAt(path)) > QUIET_MS) await compress(path)
  }
  await deleteOldest(directory, maxTotalBytes)
}

function namesOf(entries: readonly Dirent[], pattern: RegExp): string[] {
  return entries
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map(({ name }) => name)
    .toSorted()
}

/** Two processes may do it at once: each writes a file of its own, and both are the same. */
async function compress(path: string): Promise<void> {
  const half = `${path}.gz.${crypto.randomUUID().slice(0, 8)}.part`
  try {
    await pipeline(createReadStream(path), createGzip(), createWriteStream(half))
    await rename(half, `${path}.gz`)
    await rm(path, { force: true })
  } catch (error) {
    await rm(half, { force: true })
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

async function deleteOldest(directory: string, maxTotalBytes: number): Promise<void> {
  const paths = await telemetryFiles(directory)
  const files = await Promise.all(
    paths.map(async (path) => {
      const { size = 0, mtimeMs = 0 } = (await statOrNothing(path)) ?? {}
      return { path, day: basename(path).slice(0, 10), size, mtimeMs }
    }),
  )
  // Of one day, those that nobody writes to any more come first: their names do not tell.
  files.sort((a, b) => a.day.localeCompare(b.day) || a.mtimeMs - b.mtimeMs)
  let total = files.reduce((sum, { size }) => sum + size, 0)
  for (const { path, size } of files.slice(0, -1)) {
    if (total <= maxTotalBytes) return
    await rm(path, { force: true })
    total -= size
  }
}

async function changedAt(path: string): Promise<number> {
  return (await statOrNothing(path))?.mtimeMs ?? Number.POSITIVE_INFINITY
}

/** Another process may have deleted it in between. */
function statOrNothing(path: string) {
  return stat(path).catch(() => undefined)
}
