import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { collect, report, score } from '../../src/telemetry/index-node.ts'
import { NOON, WINDOW } from '../telemetry/records.ts'
import { launchChromium, serveModule } from './chromium.ts'
import type { scenarios } from './pages/autosave-run.ts'
import { runScenario } from './run-scenario.ts'

const RIVALS = 24
const now = NOON + WINDOW

it('events of AutoSave on the forced fallback become an alert', async () => {
  const { lines, phases } = await record()
  expect(new Set(phases)).toEqual(new Set(['read-only']))

  const home = mkdtempSync(join(tmpdir(), 'holdfast-replay-'))
  const directory = join(home, 'telemetry')
  const reports = join(home, 'reports')
  const told: string[] = []
  const slack = createServer(async (request, response) => {
    for await (const chunk of request) told.push(String(chunk))
    response.end()
  })
  await new Promise<void>((resolve) => slack.listen(0, '127.0.0.1', resolve))
  try {
    const collected = await collect({ input: replay(lines), directory, json: true })
    expect(JSON.parse(collected.stdout)).toEqual({ written: lines.length, skipped: 0 })
    const scored = await score({ directory, json: true, now })
    expect(scored.exitCode).toBe(1)
    const verdict = JSON.parse(scored.stdout)
    const project = verdict.windows.find(({ stream }: { stream: string }) => stream === 'project')
    expect(project).toMatchObject({ acquires: RIVALS + 1, fallback_rate: 1, readonly_entered: RIVALS })
    // They only wait for the writer, so the read-only mode by itself is no reason for a rollback.
    for (const window of verdict.windows)
      expect(window).toMatchObject({ readonly_waiting: RIVALS, readonly_rate: 0 })
    expect(verdict.reasons.map(({ rule }: { rule: string }) => rule)).not.toContain('readonly')
    expect(project.attempts_per_acquire).toBeCloseTo((2 * RIVALS + 1) / (RIVALS + 1))
    expect(project.retryable_false).toBeCloseTo(RIVALS / (RIVALS + 1))

    const slackUrl = `http://127.0.0.1:${(slack.address() as AddressInfo).port}/`
    expect(await report({ directory, reports, slackUrl, now })).toMatchObject({ exitCode: 0 })
    const [alert = ''] = readdirSync(join(reports, 'alerts')).filter((name) => name.endsWith('.md'))
    const text = readFileSync(join(reports, 'alerts', alert), 'utf8')
    expect(text).toContain('rollback required')
    expect(text).toContain('Web Locks are missing or refused')
    expect(told.join()).toContain('rollback required')
    expect(text + told.join() + readFileSync(join(reports, 'report.html'), 'utf8')).not.toContain(
      'Dear diary',
    )
  } finally {
    await new Promise((resolve) => slack.close(resolve))
    rmSync(home, { recursive: true })
  }
})

/** Runs AutoSave in a real browser. */
async function record() {
  const site = await serveModule(join(import.meta.dirname, 'pages/autosave-run.ts'))
  const browser = await launchChromium()
  try {
    const page = await browser.newPage()
    await page.goto(site.url)
    return await runScenario<typeof scenarios, 'contendOnFallback'>(page, 'contendOnFallback', RIVALS)
  } finally {
    await browser.close()
    await site[Symbol.asyncDispose]()
  }
}

/** The lines as if they had begun at noon: a run may fall across the end of a window. */
async function* replay(lines: readonly string[]) {
  const events = lines.map((line) => JSON.parse(line) as { at: number })
  const first = Math.min(...events.map(({ at }) => at))
  yield events.map((event) => `${JSON.stringify({ ...event, at: event.at - first + NOON })}\n`).join('')
}
