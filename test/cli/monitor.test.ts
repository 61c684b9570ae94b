import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import type { TelemetryRecord } from '../../src/telemetry/index.ts'
import { acquires, linesOf, NOON, WINDOW } from '../telemetry/records.ts'
import { holdfast, temporaryDirectory } from './holdfast.ts'

describe('holdfast monitor', () => {
  it.each([
    ['healthy', acquires(0, 40, 0), 0, 'rollback_required=false'],
    ['failing', acquires(0, 30, 10), 1, 'rollback_required=true'],
  ] as const)('collects and judges %s events', async (_, records, code, verdict) => {
    const cwd = temporaryDirectory()
    const collected = await holdfast(['monitor', 'collect'], { cwd, input: linesOf(lately(records)) })
    expect(collected).toEqual({ code: 0, stdout: 'wrote 40 events, skipped 0 lines\n', stderr: '' })
    const judged = await holdfast(['monitor', 'score'], { cwd })
    expect(judged).toMatchObject({ code, stdout: expect.stringContaining(verdict) })
    const { stdout } = await holdfast(['monitor', 'report', '--reports', 'public', '--json'], { cwd })
    expect(JSON.parse(stdout).files[0]).toBe('public/report.html')
    expect(readdirSync(cwd).sort()).toEqual(['public', 'telemetry'])
  })

  it.each([
    [
      'nothing to judge',
      2,
      ['score', '--directory', 'none'],
      /none: .*, so collect some first or name another;/,
    ],
    [
      'nothing to report',
      2,
      ['report', '--directory', 'none'],
      /none: .*, so collect some first or name another;/,
    ],
    ['no file', 2, ['collect', 'none'], /none: there is no such file or folder; see holdfast monitor --help/],
    [
      'no folder',
      2,
      ['collect', '--directory', process.execPath],
      /: a file is where a folder should be; see/,
    ],
    ['no event', 2, ['collect'], /no line of the input is an event; see holdfast monitor --help/],
    ['an empty name of a file', 64, ['score', '--thresholds', ''], /--thresholds: expected a text, got ""/],
    ['an empty name of a folder', 64, ['score', '--directory', ''], /--directory: expected a text, got ""/],
    ['no action', 64, ['guess'], /unknown action "guess" of monitor; expected one of collect, score, report/],
  ])('holdfast monitor reports %s, and exits with %i', async (_, code, args, message) => {
    const input = args.includes('--directory') ? linesOf(acquires(0, 1, 0)) : 'Dear diary\n'
    const ended = await holdfast(['monitor', ...args], { cwd: temporaryDirectory(), input })
    expect(ended.code).toBe(code)
    expect(ended.stderr).toMatch(/^holdfast: [^\n]+\n$/)
    expect(ended.stderr).toMatch(message)
  })
})

/** Every line of a crontab in the documentation. */
const cronLines = ['docs/cli.md', 'docs/telemetry.md'].flatMap((page) =>
  Array.from(
    readFileSync(join(root, page), 'utf8').matchAll(/^(\S+ \* \* \* \*)(.*)$/gm),
    ([, , line]) => line,
  ),
)

describe('alerts', () => {
  it.each(cronLines)('alerts need no secret in the command line of cron:%s', (line) => {
    expect(line).toMatch(/^ {2}app {2}holdfast \w/)
    expect(line).not.toMatch(/--slack-url|--pagerduty-key/)
  })

  it('alerts go to the addresses in the environment, also of another region of PagerDuty', async () => {
    const requests: string[] = []
    await using receiver = createServer((request, response) => {
      requests.push(request.url ?? '')
      response.end()
    }).listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    const address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
    const cwd = temporaryDirectory()
    await holdfast(['monitor', 'collect'], { cwd, input: linesOf(lately(acquires(0, 30, 10))) })
    const env = { HOLDFAST_SLACK_URL: `${address}/hook`, HOLDFAST_PAGERDUTY_KEY: 'key' }
    const args = ['monitor', 'report', '--pagerduty-url', `${address}/eu`]
    expect(await holdfast(args, { cwd, env })).toMatchObject({ code: 0, stderr: '' })
    expect(requests).toEqual(['/hook', '/eu'])
  })
})

/** Moves the records into the last complete window, because the command judges the present. */
function lately(records: readonly TelemetryRecord[]): TelemetryRecord[] {
  const start = Math.floor(Date.now() / WINDOW - 1) * WINDOW
  return records.map((record) => ({
    ...record,
    at: new Date(Date.parse(record.at) - NOON + start).toISOString(),
  }))
}
