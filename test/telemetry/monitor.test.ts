import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TelemetryRecord } from '../../src/telemetry/index.ts'
import { collect, report, score } from '../../src/telemetry/index-node.ts'
import { acquires, linesOf, NOON, record, WINDOW } from './records.ts'

let home: string
let directory: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-monitor-'))
  directory = join(home, 'telemetry')
  mkdirSync(directory)
})
afterEach(() => rmSync(home, { recursive: true }))

const healthy = acquires(0, 40, 0)
const failing = [...healthy, ...acquires(1, 30, 10)]
const recovered = [...failing, ...acquires(2, 40, 0), ...acquires(3, 40, 0)]
const now = NOON + 10 * WINDOW

describe('collect', () => {
  it('collect writes events and records that score then reads', async () => {
    const events = acquires(0, 0, 20).map(({ at, type, operation, retryable }, n) =>
      JSON.stringify({ at: Date.parse(at), type, operation, retryable, leaseId: `l${n}` }),
    )
    const input = [...events, 'broken', '{"v":7}', 'x'.repeat(70_000)].join('\n')
    const collected = await collect({ input: chunks(input, '\n', linesOf(healthy)), directory, json: true })
    expect(collected).toMatchObject({ exitCode: 0, stderr: '' })
    expect(JSON.parse(collected.stdout)).toEqual({ written: 60, skipped: 3 })
    const { exitCode, stdout } = await score({ directory, json: true, now })
    expect(exitCode).toBe(1)
    expect(JSON.parse(stdout).windows).toMatchObject([{ acquires: 60, retryable_false: 1 / 3 }])
  })

  it('collect reads each file by itself: compressed ones are decompressed, and a torn line does not join the next file', async () => {
    const [first = '', second = ''] = [healthy.slice(0, 10), healthy.slice(10)].map(linesOf)
    const torn = Buffer.concat([Buffer.from(`${first}{"v":1,"at":"20`), Buffer.from('é').subarray(0, 1)])
    const files = [join(home, 'a.jsonl'), join(home, 'b.jsonl.gz'), join(home, 'c.jsonl'), join(home, 'd.gz')]
    writeFileSync(files[0] ?? '', torn)
    writeFileSync(files[1] ?? '', gzipSync(second))
    // The last line is complete, but has no line break.
    writeFileSync(files[2] ?? '', second.trimEnd())
    const cutOff = gzipSync(first)
    writeFileSync(files[3] ?? '', cutOff.subarray(0, cutOff.length - 8))
    const { stdout } = await collect({ files, directory, json: true })
    expect(JSON.parse(stdout)).toEqual({ written: 10 + 30 + 30 + 10, skipped: 2 })
  })

  it('collect counts only events that it writes', async () => {
    const lines = ['{"type":"Dear diary","at":0}', '{"type":"acquired","at":0}', '{"type":"","at":0}']
    const { stdout } = await collect({ input: chunks(lines.join('\n')), directory, json: true })
    expect(JSON.parse(stdout)).toEqual({ written: 1, skipped: 2 })
  })

  it('collect needs one of input and files', async () => {
    const files = [write('', 'file')]
    for (const options of [{}, { input: chunks(''), files }])
      await expect(collect({ ...options, directory })).rejects.toThrow('expected one of input and files')
  })

  it('collect skips a record of a day that does not exist', async () => {
    const records = ['2030-02-30', '2030-02-29', '2028-02-29', '2030-04-31', '2030-12-31'].map((day) => ({
      ...record('lock:acquired', 0),
      at: `${day}T12:00:00.000Z`,
    }))
    const { stdout } = await collect({ input: chunks(linesOf(records)), directory, json: true })
    expect(JSON.parse(stdout)).toEqual({ written: 2, skipped: 3 })
  })

  it('collect writes what it has read when the signal aborts', async () => {
    const stop = new AbortController()
    async function* endless() {
      yield linesOf(healthy)
      queueMicrotask(() => stop.abort())
      await new Promise(() => {})
    }
    const { exitCode, stdout } = await collect({ input: endless(), directory, signal: stop.signal })
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'wrote 40 events, skipped 0 lines\n' })
  })

  it('collect names the cause when the folder takes no events', async () => {
    const file = write('', 'file')
    const event = '{"type":"acquired","at":0}\n'
    const { exitCode, stderr } = await collect({ input: chunks(event), directory: file })
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: `${file}: a file is where a folder should be\n`,
    })
  })

  it('collect has exit code 2 for an input without an event', async () => {
    expect(await collect({ input: chunks('Dear diary\n'), directory })).toMatchObject({ exitCode: 2 })
  })
})

describe('score', () => {
  it.each([
    ['healthy', healthy, 0, 'rollback_required=false'],
    [
      'failing',
      failing,
      1,
      'Acquires that failed for good 25 % (bound 5 %, 40 samples) since 2030-01-01 12:15 UTC',
    ],
    ['recovered', recovered, 0, '4 windows'],
  ] as const)('score of %s events', async (_, records, exitCode, text) => {
    write(records)
    const result = await score({ directory, now })
    expect(result).toMatchObject({ exitCode, stderr: '' })
    expect(result.stdout).toContain(text)
  })

  it('score takes thresholds as an object', async () => {
    write(failing)
    const thresholds = { rules: { retryable_false: { above: 0.3 }, wait_p95_ms: { above: '2s' } } } as const
    const { exitCode, stdout } = await score({ directory, thresholds, now, json: true })
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout).thresholds.rules).toMatchObject({
      retryable_false: { above: 0.3, samples: 20 },
      wait_p95_ms: { above: 2000 },
    })
  })

  it('score takes thresholds from a file', async () => {
    write(failing)
    const json = write('{ "rules": { "retryable_false": { "above": 0.3 } } }', 'a.json')
    const toml = write('[rules.retryable_false]\nabove = 0.3\n', 'b.toml')
    for (const config of [json, toml])
      expect(await score({ directory, config, now })).toMatchObject({ exitCode: 0 })
  })

  it.each([
    [
      'no folder',
      () => ({ directory: join(home, 'elsewhere') }),
      'elsewhere: there is no telemetry in this folder, so collect some first',
    ],
    ['an empty folder', () => ({}), 'telemetry: there is no telemetry in this folder'],
    ['no file', () => ({ files: [join(home, 'none.jsonl')] }), 'none.jsonl: there is no such file'],
    ['a folder for a file', () => ({ files: [home] }), ': this is a folder, not a file'],
    [
      'no configuration',
      () => ({ config: join(home, 'none.toml') }),
      'none.toml cannot be used: there is no such file',
    ],
    ['a broken configuration', () => ({ config: write('rules = [', 'x.toml') }), 'x.toml'],
    ['a wrong configuration', () => ({ config: write('{"clear_at": 9}', 'x.json') }), 'clear_at: expected'],
  ])('score has exit code 2 for %s', async (_, options, message) => {
    const result = await score({ directory, now, ...options() })
    expect(result).toMatchObject({ exitCode: 2, stdout: '' })
    expect(result.stderr).toContain(message)
  })

  it('score reports its progress', async () => {
    const path = write(
      linesOf(Array.from({ length: 200_000 }, () => record('lock:acquired', 0))),
      'long.jsonl',
    )
    const shares: number[] = []
    await score({
      files: [path],
      now,
      onProgress: ({ bytesRead, bytesTotal }) => shares.push(bytesRead / bytesTotal),
    })
    expect(shares.length).toBeGreaterThan(0)
    expect(shares.every((share) => share > 0 && share <= 1)).toBe(true)
  })
})

describe('report', () => {
  let server: Server
  let received: { path: string | undefined; body: { event_action?: string; text?: string } }[]
  let answers: number[]
  let onRequest: () => void
  beforeEach(async () => {
    received = []
    answers = []
    onRequest = () => {}
    server = createServer(async (request, response) => {
      let text = ''
      for await (const chunk of request) text += chunk
      onRequest()
      const status = answers.shift() ?? 200
      if (status === 200) received.push({ path: request.url, body: JSON.parse(text) })
      response.writeHead(status, { 'retry-after': '0' }).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterEach(() => new Promise((resolve) => server.close(resolve)))

  const reportOn = (records: readonly TelemetryRecord[], at = now) => {
    write(records)
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return report({
      ...{ directory, reports: join(home, 'reports'), now: at },
      ...{ slackUrl: `${url}/slack`, pagerDutyKey: 'key', pagerDutyUrl: `${url}/pagerduty` },
    })
  }
  const alert = () => readFileSync(join(home, 'reports/alerts/incident-20300101T1215Z.md'), 'utf8')
  const alerts = () => received.map(({ path, body }) => `${path} ${body.event_action ?? body.text}`)

  it('report opens an incident once, updates its page while it lasts, and closes it', async () => {
    await reportOn(failing)
    expect(alerts()).toEqual(['/slack Locks: rollback required', '/pagerduty trigger'])
    expect(alert()).toContain('rollback required')
    await reportOn([...failing, ...acquires(2, 20, 20)])
    expect(alert()).toContain('50 %')
    expect(alerts()).toHaveLength(2)
    await reportOn(recovered)
    await reportOn(recovered)
    expect(alert()).toContain(': closed')
    expect(alerts().slice(2)).toEqual(['/slack Locks: the incident is over', '/pagerduty resolve'])
    expect(readdirSync(join(home, 'reports')).toSorted()).toEqual(['alerts', 'report.html'])
    expect(readdirSync(join(home, 'reports/alerts')).toSorted()).toEqual([
      'incident-20300101T1215Z.md',
      'incidents.json',
      'leases',
    ])
  })

  describe('with lines that come late', () => {
    const opened = ['/slack Locks: rollback required', '/pagerduty trigger']
    const ended = ['/slack Locks: the incident is over', '/pagerduty resolve']

    it('report with lines that come late updates the incident when an earlier window turns out to be bad', async () => {
      await reportOn(failing)
      await reportOn([...failing, ...acquires(0, 0, 20)])
      expect(alerts()).toEqual(opened)
      expect(alert()).toContain('| Since | 2030-01-01 12:00 UTC |')
      await reportOn([...recovered, ...acquires(0, 0, 20)])
      expect(alerts()).toEqual([...opened, ...ended])
    })

    it('report with lines that come late tells everybody when a closed incident opens again, and when it ends again', async () => {
      await reportOn(failing)
      await reportOn(recovered)
      const reopened = [...recovered, ...acquires(3, 0, 20)]
      await reportOn(reopened)
      await reportOn(reopened)
      expect(alerts()).toEqual([...opened, ...ended, ...opened])
      expect(alert()).toContain('rollback required')
      await reportOn([...reopened, ...acquires(4, 40, 0), ...acquires(5, 40, 0)])
      expect(alerts()).toEqual([...opened, ...ended, ...opened, ...ended])
    })

    it('report with lines that come late does not end an incident exactly at the end of a window', async () => {
      const end = NOON + 4 * WINDOW
      await reportOn(failing, NOON + 2 * WINDOW)
      await reportOn(recovered, end)
      await reportOn([...recovered, ...acquires(3, 0, 20)], end + 1000)
      expect(alerts()).toEqual(opened)
    })

    it('report with lines that come late keeps an incident that a part of its window began, until good windows follow', async () => {
      await reportOn(acquires(1, 0, 20))
      const takenBack = acquires(1, 1000, 20)
      await reportOn(takenBack)
      expect(alerts()).toEqual(opened)
      await reportOn([...takenBack, ...acquires(3, 40, 0)])
      expect(alerts()).toEqual([...opened, ...ended])
    })

    it('report with lines that come late keeps the page of an incident whose end could not be sent and whose windows are gone', async () => {
      await reportOn(failing)
      answers = [403, 403]
      await reportOn(recovered)
      const page = alert()
      expect(await reportOn(acquires(8, 40, 0))).toMatchObject({ exitCode: 0 })
      expect(alerts()).toEqual([...opened, ...ended])
      expect(alert()).toBe(page)
    })
  })

  it('report sends an alert again when the channel is busy or fails', async () => {
    answers = [503, 429, 200, 500]
    expect(await reportOn(failing)).toMatchObject({ exitCode: 0 })
    expect(alerts()).toHaveLength(2)
  })

  it('report reports an alert that was not delivered, and delivers it in the next run', async () => {
    answers = [403]
    const first = await reportOn(failing)
    expect(first).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('was not sent to slack: 127.0.0.1'),
    })
    expect(first.stderr).toContain('status 403')
    expect(await reportOn(failing)).toMatchObject({ exitCode: 0 })
    expect(alerts()).toEqual(['/pagerduty trigger', '/slack Locks: rollback required'])
  })

  it('report sends no alert without an incident, or for one that ended before the first run', async () => {
    await reportOn(healthy)
    await reportOn(recovered)
    expect(alerts()).toEqual([])
    expect(alert()).toContain(': closed')
  })

  const entry = { since: '2030-01-01T11:00:00.000Z', until: null, firings: [], told: {} }
  it.each([
    ['torn', '{"torn', 'JSON'],
    ['null', 'null', 'not a list of incidents'],
    ['an object', '{}', 'not a list of incidents'],
    ['a text', '"x"', 'not a list of incidents'],
    ['a list of null', '[null]', '1 of 1 entries are not incidents and were skipped'],
    ['empty entries', '[{}, []]', '2 of 2 entries are not incidents'],
    ['a path to another folder', JSON.stringify([{ ...entry, id: '../../evil' }]), '1 of 1 entries'],
    [
      'a rule of another version',
      JSON.stringify([{ ...entry, id: 'incident-20300101T1100Z', firings: [{ rule: 'moon_phase' }] }]),
      '1 of 1 entries',
    ],
  ])('report continues when its log is %s', async (_, text, problem) => {
    await reportOn(failing)
    const before = alert()
    writeFileSync(join(home, 'reports/alerts/incidents.json'), text)
    const { exitCode, stderr } = await reportOn(failing)
    expect(exitCode).toBe(1)
    expect(stderr).toContain('incidents.json: ')
    expect(stderr).toContain(problem)
    expect(alert()).toBe(before)
    expect(readdirSync(home).toSorted()).toEqual(['reports', 'telemetry'])
    expect(await reportOn(failing)).toMatchObject({ exitCode: 0, stderr: '' })
    expect(readFileSync(join(home, 'reports/alerts/incidents.damaged.json'), 'utf8')).toBe(text)
  })

  it('report reports a damaged log once, also when there is no incident', async () => {
    await reportOn(healthy)
    writeFileSync(join(home, 'reports/alerts/incidents.json'), '{"torn')
    expect(await reportOn(healthy)).toMatchObject({ exitCode: 1 })
    expect(await reportOn(healthy)).toMatchObject({ exitCode: 0, stderr: '' })
  })

  it('report notes each alert at once, so that a run that is killed sends no alert twice', async () => {
    const logged = () => JSON.parse(readFileSync(join(home, 'reports/alerts/incidents.json'), 'utf8'))[0].told
    const notes: unknown[] = []
    onRequest = () => notes.push(logged())
    await reportOn(failing)
    expect([...notes, logged()]).toEqual([{}, { slack: 'opened' }, { slack: 'opened', pagerduty: 'opened' }])
  })

  it('report sends each alert once, also if several runs report at once', async () => {
    write(failing)
    const results = await Promise.all(Array.from({ length: 3 }, () => reportOn(failing)))
    for (const result of results) expect(result).toMatchObject({ exitCode: 0, stderr: '' })
    expect(alerts()).toEqual(['/slack Locks: rollback required', '/pagerduty trigger'])
  })

  it('report skips only log entries that are not incidents', async () => {
    await reportOn(failing)
    const path = join(home, 'reports/alerts/incidents.json')
    writeFileSync(path, JSON.stringify([null, ...JSON.parse(readFileSync(path, 'utf8'))]))
    expect(await reportOn(failing)).toMatchObject({ exitCode: 1 })
    expect(alerts()).toHaveLength(2)
  })
})

/** Writes a file. Default: a telemetry file. */
function write(
  content: string | readonly TelemetryRecord[],
  name = 'telemetry/2030-01-01.0badcafe.001.jsonl',
): string {
  const path = join(home, name)
  writeFileSync(path, typeof content === 'string' ? content : linesOf(content))
  return path
}

async function* chunks(...texts: string[]) {
  yield* texts
}
