import { readFile, stat } from 'node:fs/promises'
import { parse as parseToml } from 'smol-toml'
import { LeaseError } from '../core/index.ts'
import { Analysis } from './analysis.ts'
import { fileProblem } from './file-problem-node.ts'
import { judge, type Verdict } from './judge.ts'
import type { ScoreOptions } from './monitor-options.ts'
import { readFileLines } from './read-lines-node.ts'
import { telemetryFiles } from './retention-node.ts'
import { DEFAULT_THRESHOLDS, makeThresholds, type Thresholds } from './thresholds.ts'

const PROGRESS_BYTES = 4 * 2 ** 20
/** How often a folder is listed before a file that is gone counts as missing. */
const LISTINGS = 3
const NO_TELEMETRY = 'there is no telemetry in this folder, so collect some first or name another'

/** Reads the files and judges them. Throws a `LeaseError` that says what is wrong with the input. */
export async function scoreFiles(options: ScoreOptions, now: number): Promise<Verdict> {
  const thresholds = options.config === undefined ? DEFAULT_THRESHOLDS : await loadThresholds(options.config)
  const { files, directory = 'telemetry', onProgress } = options
  const analysis = await (files
    ? analyzeFiles(files, now, onProgress)
    : analyzeFolder(directory, now, onProgress))
  return judge(analysis, { thresholds, now })
}

/** Whoever writes there compresses and deletes files: what was listed may be gone when its turn comes. */
async function analyzeFolder(
  directory: string,
  now: number,
  onProgress: ScoreOptions['onProgress'],
  listings = LISTINGS,
): Promise<Analysis> {
  try {
    return await analyzeFiles(await filesIn(directory), now, onProgress)
  } catch (error) {
    if (listings === 1 || !isMissing((error as Error).cause)) throw error
    return analyzeFolder(directory, now, onProgress, listings - 1)
  }
}

export async function loadThresholds(path: string): Promise<Thresholds> {
  const text = await readFile(path, 'utf8').catch((cause) => refuse(path, cause))
  try {
    return makeThresholds(path.endsWith('.toml') ? parseToml(text) : JSON.parse(text))
  } catch (cause) {
    return refuse(path, cause)
  }
}

async function filesIn(directory: string): Promise<string[]> {
  const files = await telemetryFiles(directory).catch((cause) =>
    isMissing(cause) ? [] : refuse(directory, cause),
  )
  return files.length > 0 ? files : refuse(directory, new Error(NO_TELEMETRY))
}

export async function analyzeFiles(
  paths: readonly string[],
  now: number,
  onProgress: ScoreOptions['onProgress'],
): Promise<Analysis> {
  const analysis = new Analysis({ now })
  const sizes = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ size }) => size,
        (cause) => refuse(path, cause),
      ),
    ),
  )
  const bytesTotal = sizes.reduce((sum, size) => sum + size, 0)
  let bytesRead = 0
  let told = 0
  let lines = 0
  for (const path of paths) {
    await readFileLines(path, {
      onLine(line) {
        lines++
        analysis.addLine(line)
      },
      onHuge: () => analysis.skipped.huge++,
      onTorn: (line) => analysis.addLastLine(line),
      onBytes(count) {
        bytesRead += count
        if (bytesRead - told < PROGRESS_BYTES) return
        told = bytesRead
        onProgress?.({ bytesRead, bytesTotal, lines })
      },
    }).catch((cause) => refuse(path, cause))
  }
  return analysis
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT'
}

function refuse(path: string, cause: unknown): never {
  throw new LeaseError('invalid-argument', fileProblem(path, cause), { cause })
}
