import { LeaseError } from '../../core/index.ts'
import { type Command, STORE_OPTIONS } from '../command.ts'
import { CHECKS, type Patient } from '../doctor/checks.ts'
import { type Finding, failure, ok } from '../doctor/finding.ts'
import { EXIT } from '../exit-codes.ts'
import { asFailure } from '../failure.ts'
import { openStore, storeAddress, withoutPassword } from '../stores/index.ts'
import type { OpenedStore } from '../stores/opened-store.ts'
import type { Terminal } from '../terminal.ts'

const CHECK_LIMIT_MS = 10_000

export const doctor: Command = {
  usage: 'doctor [options] [store]',
  about: `Checks a store: whether it can be reached and used, its version and schema, its clock, whether changes are
told, and how fast it is; and says what to do about what is wrong. Makes the file, directory, table or bucket if it
is missing. Exits with ${EXIT.no} when a check failed.`,
  takes: [0, 1],
  options: STORE_OPTIONS,
  examples: [
    { line: 'holdfast doctor', does: 'check the configured store' },
    { line: 'holdfast doctor postgres://app@db/app', does: 'check this one' },
  ],

  async run({ positionals, settings, terminal }) {
    const address = positionals[0] ?? storeAddress(settings)
    const isJson = settings.is('json')
    const findings: Finding[] = []
    const tell = (found: readonly Finding[]) => {
      findings.push(...found)
      if (!isJson)
        for (const line of found.flatMap((finding) => describe(finding, terminal))) terminal.print(line)
    }
    if (!isJson) terminal.print(terminal.style('bold', withoutPassword(address)))
    await examine(address, tell)
    const isIll = findings.some(({ state }) => state === 'failure')
    if (isJson) terminal.print(JSON.stringify({ store: withoutPassword(address), findings }, null, 2))
    else terminal.print(summary(findings))
    return isIll ? EXIT.no : EXIT.ok
  },
}

async function examine(address: string, tell: (found: readonly Finding[]) => void): Promise<void> {
  const started = performance.now()
  const reached = () => ok('reachable', `in ${(performance.now() - started).toFixed(0)} ms`)
  let opened: OpenedStore
  try {
    opened = await openStore(address)
  } catch (error) {
    const { message, cause } = asFailure(error)
    const isReached = cause instanceof LeaseError && cause.code === 'store-failed'
    if (isReached) tell([reached()])
    return tell([failureOf(isReached ? 'access' : 'reachable', message, 'check the address')])
  }
  tell([reached()])
  const patient: Patient = { opened, resource: `holdfast-doctor-${crypto.randomUUID()}` }
  for (const { name, remedy, run } of CHECKS) {
    try {
      tell(await inTime(run(patient)))
    } catch (error) {
      // What follows builds on it.
      tell([failureOf(name, (error as Error).message, remedy)])
      break
    }
  }
  await inTime(opened.close()).catch(() => {})
}

/** What an error itself says to do, after a semicolon, fits better than what the check knows. */
function failureOf(check: string, message: string, usualRemedy: string): Finding {
  const [text = '', ...remedy] = message.split('; ')
  return failure(check, text, remedy.join('; ') || usualRemedy)
}

function inTime<T>(work: Promise<T>): Promise<T> {
  const limit = new Promise<never>((_, reject) => {
    const silence = () => reject(new Error(`no answer within ${CHECK_LIMIT_MS / 1000} s`))
    setTimeout(silence, CHECK_LIMIT_MS).unref()
  })
  return Promise.race([work, limit])
}

function summary(findings: readonly Finding[]): string {
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length
  if (count('failure') > 0) return 'This store cannot be used as it is.'
  return count('warning') > 0 ? 'This store can be used; see the warnings.' : 'All is well.'
}

const MARKS = { ok: ['✓', 'green'], warning: ['!', 'yellow'], failure: ['✗', 'red'] } as const
const NAME_WIDTH = 11

function describe({ check, state, text, remedy }: Finding, terminal: Terminal): string[] {
  const [mark, colour] = MARKS[state]
  const line = `  ${terminal.style(colour, mark)} ${check.padEnd(NAME_WIDTH)}  ${text}`
  return remedy ? [line, `    ${' '.repeat(NAME_WIDTH)}  → ${remedy}`] : [line]
}
