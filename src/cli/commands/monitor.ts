import { showRedacted } from '../../base/redact.ts'
import { collect, type MonitorResult, report, type ScoreOptions, score } from '../../telemetry/index-node.ts'
import { type Command, type Invocation, valueOption } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure, usageFailure } from '../failure.ts'
import type { CommandSettings } from '../settings.ts'
import { nextSignal } from '../signals.ts'

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
        'there are no events to collect; pipe them to standard input, or name files with one JSON object per line',
      )
    const ending = new AbortController()
    void nextSignal('SIGINT', 'SIGTERM', 'SIGHUP').then(() => ending.abort())
    return collect({
      ...(files.length > 0 ? { files } : { input: process.stdin }),
      signal: ending.signal,
      json: settings.is('json'),
      ...textOptions(settings, { directory: 'directory' }),
    })
  },
  score: (files, settings, onProgress) => score({ ...scoreOptions(files, settings), onProgress }),
  report: (files, settings, onProgress) =>
    report({
      ...scoreOptions(files, settings),
      ...textOptions(settings, {
        reports: 'reports',
        slackUrl: 'slack-url',
        pagerDutyKey: 'pagerduty-key',
        pagerDutyUrl: 'pagerduty-url',
      }),
      onProgress,
    }),
}

export const monitor: Command = {
  usage: `monitor <${Object.keys(ACTIONS).join('|')}> [options] [file…]`,
  description: `collect reads events from files or standard input, one JSON object per line, and writes them into a folder.

score judges the collected events. It exits with ${EXIT.no} when a rollback is required, and with ${EXIT.badInput} on bad input.

report writes an HTML report and a page for each incident, and notifies Slack and PagerDuty once of each. It exits
with ${EXIT.no} when one of them could not be notified.`,
  positionalCount: [1, Number.POSITIVE_INFINITY],
  options: {
    directory: valueOption('<folder>', 'the folder of the events (default telemetry)'),
    thresholds: valueOption('<file>', 'score, report: bounds in TOML or JSON (default: built in)'),
    reports: valueOption('<folder>', 'report: the folder of the reports (default reports)'),
    'slack-url': valueOption('<url>', 'report: an incoming webhook of Slack', { setting: 'environment' }),
    'pagerduty-key': valueOption('<key>', 'report: the integration key of a PagerDuty service', {
      setting: 'environment',
    }),
    'pagerduty-url': valueOption(
      '<url>',
      'report: the address of PagerDuty; in the EU https://events.eu.pagerduty.com/v2/enqueue',
      { setting: 'environment' },
    ),
  },
  examples: [
    ['app | holdfast monitor collect', 'collect the events that a program prints'],
    ['holdfast monitor score || roll-back', 'judge them'],
    ['holdfast monitor report --reports public', 'write public/report.html'],
  ],

  async run({ positionals: [name = '', ...files], settings, terminal }: Invocation) {
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
    if (!action)
      throw usageFailure(
        `unknown action ${showRedacted(name)} of monitor; expected one of ${Object.keys(ACTIONS).join(', ')}`,
      )
    const onProgress: OnProgress = ({ bytesRead, bytesTotal, lines }) => {
      const percent = Math.floor((100 * bytesRead) / Math.max(1, bytesTotal))
      terminal.step(`${percent} %, ${lines.toLocaleString('en')} lines`)
    }
    const { exitCode, stdout, stderr } = await action(files, settings, onProgress)
    terminal.step('')
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

function scoreOptions(files: readonly string[], settings: CommandSettings) {
  return {
    json: settings.is('json'),
    ...(files.length > 0 && { files }),
    ...textOptions(settings, { directory: 'directory', config: 'thresholds' }),
  }
}

/** Options by the names of their flags, as far as they are set. */
function textOptions<K extends string>(settings: CommandSettings, flags: Record<K, string>) {
  const options: { [O in K]?: string } = {}
  for (const option of Object.keys(flags) as K[]) {
    const text = settings.text(flags[option])
    if (text) options[option] = text
  }
  return options
}
