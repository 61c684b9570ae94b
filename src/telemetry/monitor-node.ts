/** What is behind `holdfast monitor collect | score | report`. The command line only parses flags. */
import { LeaseError } from '../core/index.ts'
import { collectInput } from './collect-node.ts'
import { describeVerdict } from './describe-verdict.ts'
import { fileProblem } from './file-problem-node.ts'
import type { CollectOptions, MonitorResult, ReportOptions, ScoreOptions } from './monitor-options.ts'
import { writeReport } from './report-node.ts'
import { scoreFiles } from './score-node.ts'

/** Writes events from the input as lines into a folder: 0 done, 2 when no line of it was an event. */
export function collect(options: CollectOptions): Promise<MonitorResult> {
  return answer(async () => {
    const counts = await collectInput(options)
    const { written, skipped } = counts
    return {
      exitCode: written === 0 && skipped > 0 ? 2 : 0,
      stdout: options.json ? toJson(counts) : `${written} events were written, ${skipped} lines skipped\n`,
      stderr: '',
    }
  })
}

/** Judges what was collected: 0 healthy or degraded, 1 rollback required, 2 bad input. */
export function score(options: ScoreOptions = {}): Promise<MonitorResult> {
  return answer(async () => {
    const verdict = await scoreFiles(options, options.now ?? Date.now())
    return {
      exitCode: verdict.rollback_required ? 1 : 0,
      stdout: options.json ? toJson(verdict) : describeVerdict(verdict),
      stderr: '',
    }
  })
}

/** Writes the HTML report and the incidents, and tells Slack and PagerDuty of each incident once. */
export function report(options: ReportOptions = {}): Promise<MonitorResult> {
  return answer(async () => {
    const now = options.now ?? Date.now()
    const { files, failures } = await writeReport(await scoreFiles(options, now), options, now)
    return {
      exitCode: failures.length > 0 ? 1 : 0,
      stdout: options.json ? toJson({ files, failures }) : `${files.join('\n')}\n`,
      stderr: failures.map((failure) => `${failure}\n`).join(''),
    }
  })
}

async function answer(work: () => Promise<MonitorResult>): Promise<MonitorResult> {
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
