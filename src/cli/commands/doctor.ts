import { answerWithin } from '../../base/answer-within.ts'
import { systemClock } from '../../base/clock.ts'
import { LeaseError } from '../../base/errors.ts'
import { randomId } from '../../base/random-id.ts'
import { redactAddress } from '../../base/redact.ts'
import { type Command, STORE_OPTIONS } from '../command.ts'
import { CHECKS, type Finding, failureOf, ok, thrownBy, warning } from '../doctor-checks.ts'
import { EXIT } from '../exit-codes.ts'
import { asFailure } from '../failure.ts'
import { jsonText } from '../json-text.ts'
import { CHECK_LIMIT_MS, DOCTOR_NAME_WIDTH } from '../options.ts'
import { isNewDefault, openStore, storeAddress } from '../stores/index.ts'
import type { OpenedStore } from '../stores/opened-store.ts'
import type { Terminal } from '../terminal.ts'

export const doctor: Command = {
  usage: 'doctor [options] [store]',
  description: `Checks a store: whether it can be reached and used, also by serve with its documents, audit, bus and secrets,
its version and schema, its clock, whether it pushes changes, and how fast it is. Says how to fix each problem. Creates the
file, directory, table or bucket if it is missing. Exits with ${EXIT.no} when a check failed.`,
  positionalCount: [0, 1],
  options: STORE_OPTIONS,
  examples: [
    ['holdfast doctor', 'check the configured store'],
    ['holdfast doctor postgres://app@db/app', 'check this one'],
  ],

  async run({ positionals, settings, terminal }) {
    const named = positionals[0] ?? settings.text('store')
    const address = storeAddress(settings, named)
    const isJson = settings.is('json')
    const findings: Finding[] = []
    const report = (found: readonly Finding[]) => {
      findings.push(...found)
      if (!isJson)
        for (const line of found.flatMap((finding) => describe(finding, terminal))) terminal.print(line)
    }
    if (!isJson) terminal.print(terminal.style('bold', redactAddress(address)))
    if (isNewDefault(settings, named))
      report([
        warning('store', 'no file was there yet, so nobody uses it', 'name yours, or set HOLDFAST_STORE'),
      ])
    await checkStore(address, report, terminal.step)
    terminal.step('')
    const hasFailed = findings.some(({ state }) => state === 'failure')
    if (isJson) terminal.print(jsonText({ store: redactAddress(address), findings }))
    else terminal.print(summary(findings))
    return hasFailed ? EXIT.no : EXIT.ok
  },
}

/** Reports what each check has found. */
export async function checkStore(
  address: string,
  report: (found: readonly Finding[]) => void,
  onStep: (text: string) => void = () => {},
): Promise<void> {
  onStep('connecting')
  const started = performance.now()
  const reached = () => ok('reachable', `in ${(performance.now() - started).toFixed(0)} ms`)
  const shown = redactAddress(address)
  let opened: OpenedStore
  try {
    opened = await openStore(address)
  } catch (error) {
    const { message, cause } = asFailure(error)
    const isReached = cause instanceof LeaseError && cause.code === 'store-failed'
    if (isReached) report([reached()])
    // The address is above all findings.
    const text = message.replace(`${shown}: `, '')
    return report([failureOf(isReached ? 'access' : 'reachable', text, 'check the address')])
  }
  report([reached()])
  const resource = `holdfast-doctor-${randomId()}`
  for (const check of CHECKS) {
    try {
      onStep(`checking ${check.name}`)
      report(await withLimit(check.run({ opened, resource, shown })))
    } catch (error) {
      report([thrownBy(check, error, shown)])
      // The checks after it need what this one checks.
      if (!check.isOptional) break
    }
  }
  await withLimit(opened.close()).catch(() => {})
}

function withLimit<T>(work: Promise<T>): Promise<T> {
  return answerWithin(work, CHECK_LIMIT_MS, { clock: systemClock })
}

function summary(findings: readonly Finding[]): string {
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length
  const failed = findings.filter(({ state }) => state === 'failure')
  const isForLeases = failed.every(({ check }) => ['documents', 'audit', 'bus', 'secrets'].includes(check))
  if (failed.length > 0 && isForLeases)
    return 'Leases can be used, holdfast serve cannot be run here: see the failures.'
  if (failed.length > 0) return 'This store cannot be used: see the failure.'
  return count('warning') > 0 ? 'This store can be used; see the warnings.' : 'This store can be used.'
}

const MARKS = { ok: ['✓', 'green'], warning: ['!', 'yellow'], failure: ['✗', 'red'] } as const

function describe({ check, state, text, remedy }: Finding, terminal: Terminal): string[] {
  const [mark, colour] = MARKS[state]
  const line = `  ${terminal.style(colour, mark)} ${check.padEnd(DOCTOR_NAME_WIDTH)}  ${text}`
  return remedy ? [line, `    ${' '.repeat(DOCTOR_NAME_WIDTH)}  → ${remedy}`] : [line]
}
