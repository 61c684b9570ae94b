import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { TelemetryRecord } from '../../src/telemetry/index.ts'
import { acquires, linesOf, NOON, WINDOW } from '../telemetry/records.ts'
import { holdfast, temporaryDirectory } from './holdfast.ts'

describe('holdfast monitor', () => {
  it.each([
    ['healthy', acquires(0, 40, 0), 0, 'rollback_required=false'],
    ['failing', acquires(0, 30, 10), 1, 'rollback_required=true'],
  ] as const)('collects and judges %s events', async (_, records, code, verdict) => {
    const cwd = temporaryDirectory()
    const collected = await holdfast(['monitor', 'collect'], { cwd, input: linesOf(records.map(lately)) })
    expect(collected).toEqual({ code: 0, stdout: '40 events were written, 0 lines skipped\n', stderr: '' })
    const judged = await holdfast(['monitor', 'score'], { cwd })
    expect(judged).toMatchObject({ code, stdout: expect.stringContaining(verdict) })
    const { stdout } = await holdfast(['monitor', 'report', '--reports', 'public', '--json'], { cwd })
    expect(JSON.parse(stdout).files[0]).toBe('public/report.html')
    expect(readdirSync(cwd).sort()).toEqual(['public', 'telemetry'])
  })

  it.each([
    ['nothing to judge', 2, ['score', '--directory', 'none'], /none: .*no such file/],
    ['no file', 64, ['collect', 'none'], /no such file.*none/],
    ['no event', 2, ['collect'], /no line of the input is an event/],
    ['no action', 64, ['guess'], /monitor cannot "guess"; it can collect, score, report/],
  ])('says that there is %s, and exits with %i', async (_, code, args, message) => {
    const ended = await holdfast(['monitor', ...args], { cwd: temporaryDirectory(), input: 'Dear diary\n' })
    expect(ended.code).toBe(code)
    expect(ended.stderr).toMatch(message)
  })
})

/** The command judges by the present: in a window that has ended. */
function lately(record: TelemetryRecord): TelemetryRecord {
  const start = Math.floor(Date.now() / WINDOW - 2) * WINDOW
  return { ...record, at: new Date(Date.parse(record.at) - NOON + start).toISOString() }
}
