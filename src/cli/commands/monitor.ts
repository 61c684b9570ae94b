import { createReadStream } from 'node:fs'
import { collect, type MonitorResult, report, type ScoreOptions, score } from '../../telemetry/index-node.ts'
import type { Call, Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure, usageFailure } from '../failure.ts'
import type { CommandSettings } from '../settings.ts'
import type { Terminal } from '../terminal.ts'

type OnProgress = NonNullable<ScoreOptions['onProgress']>

type Action = (
  files: readonly string[],
  settings: CommandSettings,
  onProgress: OnProgress,
) => Promise<MonitorResult>

const ACTIONS: Readonly<Record<string, Action>> = {
  collect(files, settings) {
    if (files.length === 0 && process.stdin.isTTY)
      throw usageFailure(
        'there is nothing to collect; pipe events into it, or name files with a JSON object a line',
      )
    const ending = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ending.abort())
    return collect({
      input: files.length > 0 ? chunksOf(files) : process.stdin,
      signal: ending.signal,
      ...place(settings),
    })
  },
  score: (files, settings, onProgress) => score({ ...judging(files, settings), onProgress }),
  report(files, settings, onProgress) {
    const reports = settings.text('reports')
    const slackUrl = settings.text('slack-url')
    const pagerDutyKey = settings.text('pagerduty-key')
    return report({
      ...judging(files, settings),
      onProgress,
      ...(reports && { reports }),
      ...(slackUrl && { slackUrl }),
      ...(pagerDutyKey && { pagerDutyKey }),
    })
  },
}

export const monitor: Command = {
  usage: `monitor <${Object.keys(ACTIONS).join('|')}> [options] [file…]`,
  about: `collect writes events, one JSON object a line, from files or standard input into a folder.
score judges what was collected, and exits with ${EXIT.no} when a rollback is required, ${EXIT.badInput} on bad input.
report writes an HTML report and a page for each incident, tells Slack and PagerDuty once, and exits with ${EXIT.no} when
one of them could not be told.`,
  takes: [1, Number.POSITIVE_INFINITY],
  options: {
    directory: { type: 'string', value: '<folder>', help: 'where the events are kept (default telemetry)' },
    thresholds: { type: 'string', value: '<file>', help: 'score, report: TOML or JSON (default: built in)' },
    reports: { type: 'string', value: '<folder>', help: 'report: where it writes (default reports)' },
    'slack-url': {
      type: 'string',
      value: '<url>',
      setting: 'environment',
      help: 'report: an incoming webhook of Slack',
    },
    'pagerduty-key': {
      type: 'string',
      value: '<key>',
      setting: 'environment',
      help: 'report: the integration key of a PagerDuty service',
    },
  },
  examples: [
    { line: 'app | holdfast monitor collect', does: 'keep the events that a program prints' },
    { line: 'holdfast monitor score || roll-back', does: 'judge them' },
    { line: 'holdfast monitor report --reports public', does: 'write public/report.html' },
  ],

  async run({ positionals: [name = '', ...files], settings, terminal }: Call) {
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
    if (!action)
      throw usageFailure(`monitor cannot ${JSON.stringify(name)}; it can ${Object.keys(ACTIONS).join(', ')}`)
    const progress = new ProgressLine(terminal)
    const { exitCode, stdout, stderr } = await action(files, settings, (made) => progress.show(made))
    progress.clear()
    terminal.write(stdout)
    if (exitCode === EXIT.badInput)
      throw new Failure(
        EXIT.badInput,
        `${stderr.trim() || 'no line of the input is an event'}; see holdfast monitor --help`,
      )
    for (const line of stderr.split('\n').filter((text) => text !== '')) terminal.remark(line)
    return exitCode
  },
}

/** One line on a terminal that tells how far the reading is, and goes when it is done. */
class ProgressLine {
  readonly #isShown: boolean

  constructor({ isInteractive }: Terminal) {
    this.#isShown = isInteractive && process.stderr.isTTY
  }

  show({ bytesRead, bytesTotal, lines }: Parameters<OnProgress>[0]): void {
    const share = Math.floor((100 * bytesRead) / Math.max(1, bytesTotal))
    this.#write(`\r${share} %, ${lines.toLocaleString('en')} lines`)
  }

  clear(): void {
    this.#write('\r\x1b[K')
  }

  #write(text: string): void {
    if (this.#isShown) process.stderr.write(text)
  }
}

function place(settings: CommandSettings) {
  const directory = settings.text('directory')
  return { json: settings.is('json'), ...(directory && { directory }) }
}

function judging(files: readonly string[], settings: CommandSettings) {
  const config = settings.text('thresholds')
  return { ...place(settings), ...(files.length > 0 && { files }), ...(config && { config }) }
}

async function* chunksOf(files: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const file of files) yield* createReadStream(file)
}
