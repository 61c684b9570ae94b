/** The functions behind `holdfast monitor collect | score | report`. The command line only parses the flags. */
import { LeaseError } from '../base/errors.ts'
import { type CollectOptions, checkCollectOptions, collectInput } from './collect-node.ts'
import { countOf, describeHealth } from './health-text.ts'
import { fileProblem } from './input-files-node.ts'
import { checkReportOptions, type ReportOptions, writeReport } from './report-node.ts'
import { checkScoreOptions, type ScoreOptions, scoreFiles } from './score-node.ts'

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

/** Writes events from the input as records into a folder. Exit code 2 if the input has lines but no event. */
export async function collect(options: CollectOptions): Promise<MonitorResult> {
  checkCollectOptions(options)
  return reportBadInput(async () => {
    const counts = await collectInput(options)
    const { written, skipped } = counts
    return {
      exitCode: written === 0 && skipped > 0 ? 2 : 0,
      stdout: options.json
        ? toJson(counts)
        : `wrote ${countOf(written, 'event')}, skipped ${countOf(skipped, 'line')}\n`,
      stderr: '',
    }
  })
}

/** Checks the health of the locks. Exit code 0: healthy or degraded. 1: rollback required. 2: bad input. */
export async function score(options: ScoreOptions = {}): Promise<MonitorResult> {
  checkScoreOptions(options)
  return reportBadInput(async () => {
    const health = await scoreFiles(options, options.now ?? Date.now())
    return {
      exitCode: health.rollback_required ? 1 : 0,
      stdout: options.json ? toJson(health) : describeHealth(health),
      stderr: '',
    }
  })
}

/** Writes the HTML report and the pages of incidents, and sends each alert to Slack and PagerDuty once. */
export async function report(options: ReportOptions = {}): Promise<MonitorResult> {
  checkReportOptions(options)
  return reportBadInput(async () => {
    const now = options.now ?? Date.now()
    const { files, failures } = await writeReport(await scoreFiles(options, now), options, now)
    return {
      exitCode: failures.length > 0 ? 1 : 0,
      stdout: options.json ? toJson({ files, failures }) : `${files.join('\n')}\n`,
      stderr: failures.map((failure) => `${failure}\n`).join(''),
    }
  })
}

async function reportBadInput(work: () => Promise<MonitorResult>): Promise<MonitorResult> {
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

function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
