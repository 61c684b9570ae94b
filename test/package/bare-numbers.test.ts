import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { bareNumbersIn } from './bare-numbers.ts'

/** The homes of defaults, limits and tuned numbers. */
const HOMES = /(^|\/)((rare-)?options|configuration\/settings)\.ts$/

/** Numbers that are nobody's default, by `path#name`, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'base/clock.ts#MAX_TIMER_MS': 'a limit of the platform',
  'stores/lease-row.ts#TOKENS_PER_MS': 'a unit',
  'stores/postgres/names.ts#MAX_IDENTIFIER_BYTES': 'a limit of Postgres',
  'guard/mysql.ts#MAX_RESOURCE_BYTES': 'a limit of InnoDB',
  'locks/long-names.ts#MAX_KEPT_BYTES': 'loaded on demand: an import would take the entry apart',
  'locks/lock-manager.ts#PLACED_WITHIN_MS': 'the only number of its part',
  'server/node/sockets.ts#LENGTH_IN_TWO_BYTES': 'a code of a WebSocket frame',
  'server/node/sockets.ts#LENGTH_IN_EIGHT_BYTES': 'a code of a WebSocket frame',
  'server/stats.ts#bucketMs': 'a column of the table of ranges',
  'sync/chrome.ts#itemBytes': 'a limit of Chrome',
  'server/http/reply.ts#status': 'a code of HTTP',
  'once/task-handler.ts#status': 'a code of HTTP',
  'cli/json-text.ts#indent': 'the layout of JSON',
  'protocol/names.ts#MIN_POSTPONE_MS': 'a limit of the protocol, which imports nothing',
  'protocol/names.ts#MAX_POSTPONE_MS': 'a limit of the protocol, which imports nothing',
}

describe('a number with a unit', () => {
  it('a number with a unit, or of a default, is in the options of its part or in the settings, and nowhere else', () => {
    const sources = globSync('src/**/*.{ts,tsx}', { cwd: root }).filter(
      (path) => !path.includes('.test.') && !HOMES.test(path),
    )
    expect(sources.length).toBeGreaterThan(300)
    const found = sources.flatMap((path) =>
      bareNumbersIn(path, readFileSync(join(root, path), 'utf8')).map((what) => ({
        id: `${path.replace('src/', '')}#${what.split(' ')[0]}`,
        what: `${path}: ${what}`,
      })),
    )
    expect(found.filter(({ id }) => !(id in EXCEPTIONS)).map(({ what }) => what)).toEqual([])
    const ids = new Set(found.map(({ id }) => id))
    expect(Object.keys(EXCEPTIONS).filter((id) => !ids.has(id))).toEqual([])
  })

  it.each([
    ['const RETRY_MS = 500', 'RETRY_MS in line 1'],
    ['\nexport const SIZE_BYTES = 4 * 1024', 'SIZE_BYTES in line 2'],
    ['const PAUSES_MS = [50, 200]', 'PAUSES_MS in line 1'],
    ['function f({ limitMs = 20 }) {}', 'limitMs in line 1'],
    ['const { tries = 5 } = options', 'tries in line 1'],
    ['open({ idleSeconds: 30 })', 'idleSeconds in line 1'],
    ['clock.setTimer(run, 250)', 'the time of setTimer in line 1'],
    ['await pause(clock, 2 * 1000)', 'the time of pause in line 1'],
    ['AbortSignal.timeout(3000)', 'the time of timeout in line 1'],
  ])('a number with a unit is found in %j', (text, found) => {
    expect(bareNumbersIn('src/a.ts', text)).toEqual([found])
  })

  it.each([
    'const DAY_MS = 86_400_000',
    'let leftMs = 0',
    'clock.setTimer(run, LIMIT_MS)',
    'const tries = 5',
  ])('a number with a unit is not seen in %j', (text) => {
    expect(bareNumbersIn('src/a.ts', text)).toEqual([])
  })
})
