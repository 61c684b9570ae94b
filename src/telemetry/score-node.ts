/** Reads telemetry files and checks the health of the locks. */

import { stat } from 'node:fs/promises'
import {
  type Checks,
  checkEach,
  expectBoolean,
  expectFunction,
  expectText,
  refuse,
} from '../base/arguments.ts'
import { systemClock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import { readConfigurationFile } from '../configuration/load-node.ts'
import { Analysis, expectMoment, type Skipped } from './analysis.ts'
import { telemetryFiles } from './file-sink-node.ts'
import { checkHealth, type LockHealth } from './health.ts'
import { describeHealth } from './health-text.ts'
import {
  expectFiles,
  type MonitorResult,
  readFileLines,
  refuseFile,
  reportBadInput,
  toJson,
} from './monitor-node.ts'
import { MAX_LISTINGS, MAX_NAMED_LINES, PROGRESS_BYTES, type ScoreOptions } from './options.ts'
import { makeThresholds, type Thresholds } from './thresholds.ts'

export interface Progress {
  readonly bytesRead: number
  readonly bytesTotal: number
  readonly lines: number
}

const NO_TELEMETRY = 'there is no telemetry in this folder, so collect some first or name another'

/**
 * Checks the health of the locks. Exit code 0: healthy or degraded. 1: rollback required. 2: bad input.
 *
 * @example
 * const { exitCode, stdout } = await score({ directory: 'telemetry', json: true })
 */
export async function score(options: ScoreOptions = {}): Promise<MonitorResult> {
  checkScoreOptions(options, SCORE_CHECKS)
  return reportBadInput(async () => {
    const { health, skippedLines } = await scoreFiles(options, options.now ?? systemClock.now())
    return {
      exitCode: health.rollback_required ? 1 : 0,
      stdout: options.json ? toJson(health) : describeHealth(health),
      stderr: skippedLines,
    }
  })
}

export const SCORE_CHECKS: Checks<ScoreOptions> = {
  directory: expectText,
  files: expectFiles,
  thresholds: (_, value) => makeThresholds(value),
  config: expectText,
  json: expectBoolean,
  now: expectMoment,
  onProgress: expectFunction,
}

export function checkScoreOptions<T extends ScoreOptions>(options: T, checks: Checks<T>): void {
  checkEach(options, checks)
  const { thresholds, config } = options
  if (thresholds !== undefined && config !== undefined)
    refuse('config', 'only one of config and thresholds', config)
}

export interface Scored {
  readonly health: LockHealth
  /** Where the first skipped lines are, one line of text for each. */
  readonly skippedLines: string
}

/** Throws a `LeaseError` with `invalid-argument` that names the file or setting with a problem. */
export async function scoreFiles(options: ScoreOptions, now: number): Promise<Scored> {
  const { config, files, directory = 'telemetry', onProgress } = options
  const thresholds = config === undefined ? (options.thresholds ?? {}) : loadThresholds(config)
  for (let listing = 1; ; listing++) {
    try {
      const paths = files ?? (await filesIn(directory))
      const { analysis, skippedLines } = await analyzeFiles(paths, now, onProgress)
      return { health: checkHealth(analysis, { thresholds, now }), skippedLines }
    } catch (error) {
      // The processes that write to the folder also compress and delete files. So a listed file may have vanished.
      if (files || listing === MAX_LISTINGS || !isMissing((error as Error).cause)) throw error
    }
  }
}

function loadThresholds(path: string): Thresholds {
  const config = readConfigurationFile(path)
  try {
    return makeThresholds(config)
  } catch (cause) {
    refuseFile(path, cause)
  }
}

async function filesIn(directory: string): Promise<string[]> {
  const files = await telemetryFiles(directory).catch((cause) =>
    isMissing(cause) ? [] : refuseFile(directory, cause),
  )
  if (files.length === 0) throw new LeaseError('invalid-argument', `${directory}: ${NO_TELEMETRY}`)
  return files
}

async function analyzeFiles(
  paths: readonly string[],
  now: number,
  onProgress: ScoreOptions['onProgress'],
): Promise<{ analysis: Analysis; skippedLines: string }> {
  const analysis = new Analysis({ now })
  const skippedLines: string[] = []
  const sizeOf = async (path: string) => (await stat(path).catch((cause) => refuseFile(path, cause))).size
  const bytesTotal = (await Promise.all(paths.map(sizeOf))).reduce((sum, size) => sum + size, 0)
  let bytesRead = 0
  let bytesReported = 0
  let lines = 0
  for (const path of paths) {
    // Lines of other times are intact, and may be many.
    const note = (reason: keyof Skipped | undefined, number: number | string) => {
      if (reason && reason !== 'outside' && skippedLines.length < MAX_NAMED_LINES)
        skippedLines.push(`${path}:${number}: skipped, ${reason}\n`)
    }
    await readFileLines(path, {
      onLine(line, number) {
        lines++
        note(analysis.addLine(line), number)
      },
      onHuge: (number) => note(analysis.skip('huge'), number),
      onLastLine: (line, number) => note(analysis.addLastLine(line), number ?? 'end'),
      onBytes(count) {
        bytesRead += count
        if (bytesRead - bytesReported < PROGRESS_BYTES) return
        bytesReported = bytesRead
        notify(onProgress, { bytesRead, bytesTotal, lines })
      },
    }).catch((cause) => refuseFile(path, cause))
  }
  return { analysis, skippedLines: skippedLines.join('') }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT'
}
