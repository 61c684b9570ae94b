import { systemClock } from '../../base/clock.ts'
import { LeaseError, messageOf } from '../../base/errors.ts'
import { pause } from '../../base/pause.ts'
import { randomId } from '../../base/random-id.ts'
import { type Command, STORE_OPTIONS } from '../command.ts'
import { CHECKS, type Finding, failureOf, ok } from '../doctor-checks.ts'
import { EXIT } from '../exit-codes.ts'
import { asFailure } from '../failure.ts'
import { openStore, storeAddress, withoutPassword } from '../stores/index.ts'
import type { OpenedStore } from '../stores/opened-store.ts'
import type { Terminal } from '../terminal.ts'

const CHECK_LIMIT_MS = 10_000

export const doctor: Command = {
  usage: 'doctor [options] [store]',
  description: `Checks a store: whether it can be reached and used, also by serve with its documents, audit and bus, its
version and schema, its clock, whether it pushes changes, and how fast it is. Says how to fix each problem. Creates the
file, directory, table or bucket if it is missing. Exits with ${EXIT.no} when a check failed.`,
  positionalCount: [0, 1],
  options: STORE_OPTIONS,
  examples: [
    ['holdfast doctor', 'check the configured store'],
    ['holdfast doctor postgres://app@db/app', 'check this one'],
  ],

  async run({ positionals, settings, terminal }) {
    const address = positionals[0] ?? storeAddress(settings)
    const isJson = settings.is('json')
    const findings: Finding[] = []
    const report = (found: readonly Finding[]) => {
      findings.push(...found)
      if (!isJson)
        for (const line of found.flatMap((finding) => describe(finding, terminal))) terminal.print(line)
    }
    if (!isJson) terminal.print(terminal.style('bold', withoutPassword(address)))
    await runChecks(address, report, terminal)
    terminal.step('')
    const hasFailed = findings.some(({ state }) => state === 'failure')
    if (isJson) terminal.print(JSON.stringify({ store: withoutPassword(address), findings }, null, 2))
    else terminal.print(summary(findings))
    return hasFailed ? EXIT.no : EXIT.ok
  },
}

async function runChecks(
  address: string,
  report: (found: readonly Finding[]) => void,
  terminal: Terminal,
): Promise<void> {
  terminal.step('connecting')
  const started = performance.now()
  const reached = () => ok('reachable', `in ${(performance.now() - started).toFixed(0)} ms`)
  let opened: OpenedStore
  try {
    opened = await openStore(address)
  } catch (error) {
    const { message, cause } = asFailure(error)
    const isReached = cause instanceof LeaseError && cause.code === 'store-failed'
    if (isReached) report([reached()])
    return report([failureOf(isReached ? 'access' : 'reachable', message, 'check the address')])
  }
  report([reached()])
  const resource = `holdfast-doctor-${randomId()}`
  for (const { name, remedy, run } of CHECKS) {
    try {
      terminal.step(`checking ${name}`)
      report(await withLimit(run({ opened, resource })))
    } catch (error) {
      // The checks after it need what this one checks.
      report([failureOf(name, messageOf(error), remedy)])
      break
    }
  }
  await withLimit(opened.close()).catch(() => {})
}

function withLimit<T>(work: Promise<T>): Promise<T> {
  const limit = pause(systemClock, CHECK_LIMIT_MS, { background: true }).then(() => {
    throw new Error(`no answer within ${CHECK_LIMIT_MS / 1000} s`)
  })
  return Promise.race([work, limit])
}

function summary(findings: readonly Finding[]): string {
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length
  const failed = findings.filter(({ state }) => state === 'failure')
  const isForLeases = failed.every(({ check }) => ['documents', 'audit', 'bus'].includes(check))
  if (failed.length > 0 && isForLeases)
    return 'Leases can be used, holdfast serve cannot be run here: see the failures.'
  if (failed.length > 0) return 'This store cannot be used: see the failure.'
  return count('warning') > 0 ? 'This store can be used; see the warnings.' : 'This store can be used.'
}

const MARKS = { ok: ['✓', 'green'], warning: ['!', 'yellow'], failure: ['✗', 'red'] } as const
const NAME_WIDTH = 11

function describe({ check, state, text, remedy }: Finding, terminal: Terminal): string[] {
  const [mark, colour] = MARKS[state]
  const line = `  ${terminal.style(colour, mark)} ${check.padEnd(NAME_WIDTH)}  ${text}`
  return remedy ? [line, `    ${' '.repeat(NAME_WIDTH)}  → ${remedy}`] : [line]
}
