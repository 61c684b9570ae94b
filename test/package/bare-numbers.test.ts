import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'
import { bareNumbersIn } from './bare-numbers.ts'

/** The homes of defaults, limits and tuned numbers. */
const HOMES = /(^|\/)((rare-)?options|configuration\/settings)\.ts$/

/** Numbers that are nobody's to tune, by `path#name`, or by the path for a whole file, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'clients/etcd-errors.ts': 'codes of gRPC',
  'clients/firestore-errors.ts': 'codes of gRPC',
  'clients/mysql-errors.ts': 'codes of MySQL',
  'clients/nats-errors.ts': 'codes of NATS',
  'clients/sqlite-errors.ts': 'codes of SQLite',
  'cli/exit-codes.ts': 'the table of the exit codes',
  'server/http/error-codes.ts': 'the table of the error codes',
  'idempotency/problems.ts': 'the table of the problems',
  'telemetry/thresholds.ts#DEFAULT_THRESHOLDS': 'the table of the thresholds',
  'telemetry/plot.ts': 'the layout of the plots',
  'telemetry/quantile-sketch.ts': 'its error and its range, on which all stored sketches depend',
  'server/node/sockets.ts': 'frames and codes of RFC 6455',
  'cli/format-duration.ts': 'factors between units',
  'base/duration.ts': 'factors between units',

  'base/clock.ts#MAX_TIMER_MS': 'a limit of the platform',
  'base/share.ts#UNLIMITED': 'stands for infinity in stored data',
  'base/ip-address.ts#ADDRESS_BITS': 'the size of an address',
  'base/ip-address.ts#V4_BITS': 'the size of an address',
  'base/ip-address.ts#CUSTOMER_BITS': 'how providers give addresses out',
  'base/ip-address.ts#255': 'the largest byte',
  'base/suggest.ts#1000': 'the smallest number that somebody means as a TTL',
  'base/tracing.ts#KINDS': 'numbers of OpenTelemetry',
  'base/tracing.ts#ERROR': 'a number of OpenTelemetry',
  'autosave/save-file.ts#15': 'part of the checksum',
  'autosave/save-file.ts#HEAD_LENGTH': 'follows from the format',
  'cli/json-text.ts#indent': 'the layout of JSON',
  'cli/main.ts#22': 'runs in every Node, so it imports nothing before it has checked the version',
  'cli/main.ts#13': 'as above',
  'cli/main.ts#70': 'as above',
  'cli/signals.ts#SIGNAL_BASE': 'a rule of shells',
  'cli/stores/etcd.ts#CONSENSUS': 'the smallest cluster that outlives a member',
  'cli/stores/remedies.ts#SERVERS': 'the usual ports of the databases',
  'cli/terminal.ts#CODES': 'codes of ANSI',
  'client/hints.ts#4000': 'the first close code that an application may use',
  'clients/etcd.ts#COMPARISONS': 'numbers of the protocol of etcd',
  'clients/etcd.ts#TARGETS': 'numbers of the protocol of etcd',
  'clients/etcd.ts#SORT': 'numbers of the protocol of etcd',
  'guard/mysql.ts#MAX_RESOURCE_BYTES': 'a limit of InnoDB',
  'idempotency/fetch-messages.ts#NO_BODY': 'codes of HTTP',
  'idempotency/idempotent-fetch.ts#TEMPORARY': 'codes of HTTP',
  'locks/long-names.ts#MAX_KEPT_BYTES': 'loaded on demand: an import would take the entry apart',
  'once/task-handler.ts#status': 'a code of HTTP',
  'protocol/pusher.ts#PUSHER_CLOSE': 'codes of the Pusher protocol',
  'react/avatar.tsx#31': 'a hash',
  'react/avatar.tsx#1000003': 'a hash',
  'react/draft-texts.ts#1000000': 'a factor between units',
  'react/draft-texts.ts#100000': 'a factor between units',
  'react/moment-text.ts#24': 'the hours of a day',
  'server/channels/socket.ts#MAX_REASON_LENGTH': 'a limit of RFC 6455',
  'server/documents.ts#FIRST_TIME_TOKEN': 'the smallest token of a clock',
  'server/http/body.ts#SURELY_KEPT': 'a property of doubles',
  'server/http/body.ts#DOUBLE_DIGITS': 'a property of doubles',
  'server/http/reply.ts#status': 'a code of HTTP',
  'server/http/request-handler.ts#status': 'a code of HTTP',
  'server/routes/leases.ts#17': 'the length of a tab and a token',
  'stores/file/rows.ts#FORMAT': 'the version of the stored format',
  'stores/lease-row.ts#TOKENS_PER_MS': 'a unit',
  'stores/local/process-node.ts#19': 'a column of /proc',
  'stores/mysql/names.ts#MAX_NAME_CHARACTERS': 'a limit of MySQL',
  'stores/mysql/names.ts#PROCEDURES_VERSION': 'the version of the procedures',
  'stores/mysql/schema.ts#SCHEMA_VERSION': 'the version of the tables',
  'stores/mysql/schema.ts#OLDEST_VERSION': 'the version of the tables',
  'stores/postgres/install-script.ts#SCHEMA_VERSION': 'the version of the tables',
  'stores/postgres/install-script.ts#OLDEST_VERSION': 'the version of the tables',
  'stores/postgres/install-script.ts#50': 'how full a page of a table is, in the SQL that creates it',
  'stores/postgres/install-script.ts#80': 'how full a page of a table is, in the SQL that creates it',
  'stores/postgres/names.ts#MAX_IDENTIFIER_BYTES': 'a limit of Postgres',
  'stores/postgres/notifications.ts#MAX_PID': 'a limit of Linux',
  'stores/redis/names.ts#SHARDS': 'part of the stored data',
  'stores/redis/names.ts#2166136261': 'a hash',
  'stores/redis/names.ts#16777619': 'a hash',
  'stores/registers/rows.ts#VERSION': 'the version of the stored format',
  'stores/sqlite/queries.ts#128': 'as many characters as the longest name has',
  'stores/web/directory-rows.ts#FORMAT': 'the version of the stored format',
  'sync/chrome.ts#SYNC_LIMITS': 'limits of Chrome',
  'sync/log.ts#LAST_STAMP': 'follows from the format',
  'telemetry/health-text.ts#1000': 'a factor between units',
  'telemetry/http-batches.ts#TOO_LARGE': 'a code of HTTP',
  'telemetry/http-batches.ts#FORBIDDEN': 'a code of HTTP',
  'telemetry/http-batches.ts#REFUSALS': 'codes of HTTP',
  'telemetry/http-batches.ts#FINAL_STATUSES': 'codes of HTTP',
  'telemetry/record.ts#28': 'the days of the shortest month',
  'testing/conformance/asking-again.ts#PERMITS': 'the story of a test',
  'testing/conformance/shared-queue.ts#PAIR': 'the story of a test',
  'testing/fake-browser/index.ts#latency': 'an option that only tests give another value',
  'testing/fake-clock.ts': 'how the clocks of browsers round',
  'testing/node/describe-lifetime.ts#UNSETTLED_EXIT_CODE': 'a code of Node',
  'testing/node/lifetime-limits.ts#ALIVE_EXIT_CODE': 'a code between two processes',
}

describe('a number with a unit', () => {
  it('a number that somebody may want to change is in the options of its part or in the settings, and nowhere else', () => {
    const sources = globSync('src/**/*.{ts,tsx}', { cwd: root }).filter(
      (path) => !path.includes('.test.') && !HOMES.test(path),
    )
    expect(sources.length).toBeGreaterThan(300)
    const found = sources.flatMap((path) =>
      bareNumbersIn(path, readFileSync(join(root, path), 'utf8'))
        // A test case is a story with numbers.
        .filter((what) => !(path.startsWith('src/testing/') && /^\d/.test(what)))
        .map((what) => ({ path: path.replace('src/', ''), name: what.split(' ')[0], what })),
    )
    const reasonsOf = ({ path, name }: (typeof found)[number]) => [path, `${path}#${name}`]
    const unexplained = found.filter((one) => !reasonsOf(one).some((id) => id in EXCEPTIONS))
    expect(unexplained.map(({ path, what }) => `${path}: ${what}`)).toEqual([])
    const ids = new Set(found.flatMap(reasonsOf))
    expect(Object.keys(EXCEPTIONS).filter((id) => !ids.has(id))).toEqual([])
  })

  it('a number that is planted in the code of any folder is found', () => {
    const folders = globSync('src/**/', { cwd: root }).filter((folder) => !folder.startsWith('src/testing'))
    expect(folders.length).toBeGreaterThan(40)
    const missed = folders.filter(
      (folder) =>
        bareNumbersIn(`${folder}/a.ts`, 'answer({ retryIn: 1000, ttl: age > 60_000 ? 5 : 7 })').length !== 2,
    )
    expect(missed).toEqual([])
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
    ['const MAX_TRIES = 5', 'MAX_TRIES in line 1'],
    ['const EARLY = 0.9', 'EARLY in line 1'],
    ['const EVERY_MS = { terminal: 5000, log: 60_000 }', 'EVERY_MS in line 1'],
    ['const answer = () => ({ retryIn: 1000 })', '1000 in line 1'],
    ['if (age > 60_000) forget()', '60000 in line 1'],
    ['const used = max > 0 ? max : 10', '10 in line 1'],
    ['const limit = given ?? 100', 'given in line 1'],
    ['const rows = stdout.rows || 24', 'rows in line 1'],
    ['const lua = `local at = now + 60000`', '60000 of a text in line 1'],
    ["const sql = `update t set at = now() + interval '1 s' * 30`", '30 of a text in line 1'],
  ])('a number with a unit is found in %j', (text, found) => {
    expect(bareNumbersIn('src/stores/a.ts', text)).toEqual([found])
  })

  it.each([
    'const DAY_MS = 86_400_000',
    'let leftMs = 0',
    'clock.setTimer(run, LIMIT_MS)',
    'function f() { const tries = 5 }',
    'const seconds = ms / 1000',
    'const day = iso.slice(0, 10)',
    'const text = `expected up to 64 letters`',
    'const sql = `create table t (name varchar(64)) -- 64 characters`',
  ])('a number with a unit is not seen in %j', (text) => {
    expect(bareNumbersIn('src/stores/a.ts', text)).toEqual([])
  })
})
