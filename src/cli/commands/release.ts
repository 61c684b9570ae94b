import { createLeases, type LeaseRecord } from '../../core/index.ts'
import { type Command, STORE_OPTIONS } from '../command.ts'
import { leaseToJson, timeLeft } from '../describe-lease.ts'
import { EXIT } from '../exit-codes.ts'
import { usageFailure } from '../failure.ts'
import { storeAddress, withStore } from '../stores/index.ts'
import { printable, type Terminal } from '../terminal.ts'

export const release: Command = {
  usage: 'release --force [options] <resource>',
  about: `Ends a lease, whoever holds it. A holdfast run that held it kills its command at once; other holders are told
by their signal, and their token is refused where tokens are checked. Asks first on a terminal; elsewhere --yes
is needed. Exits with ${EXIT.no} when nobody held it, or when the answer was no.`,
  takes: [1, 1],
  options: {
    force: { type: 'boolean', help: 'needed: only a holder can release without force' },
    yes: { type: 'boolean', short: 'y', help: 'do not ask' },
    ...STORE_OPTIONS,
  },
  examples: [
    { line: 'holdfast release --force backup', does: 'look who holds it, ask, and end it' },
    { line: 'holdfast release --force --yes backup', does: 'in a script' },
  ],

  async run({ positionals: [resource = ''], settings, terminal }) {
    if (!settings.is('force'))
      throw usageFailure('only its holder can release a lease; --force ends it whoever holds it')
    const canAsk = process.stdin.isTTY && process.stderr.isTTY
    if (!settings.is('yes') && !canAsk)
      throw usageFailure('there is no terminal to ask on; confirm with --yes')
    const say = (text: string, lease: LeaseRecord | null) =>
      terminal.print(settings.is('json') ? JSON.stringify(lease && leaseToJson(lease), null, 2) : text)
    return withStore(
      storeAddress(settings),
      async ({ store }) => {
        const name = printable(resource)
        const lease = await createLeases(store).inspect(resource)
        if (!lease) {
          say(`Nobody holds ${name}.`, null)
          return EXIT.no
        }
        if (!settings.is('yes') && !(await confirm(lease, terminal))) return EXIT.no
        // By its token, so that it cannot hit a successor.
        const { ended } = await store.release({ resource: lease.resource, token: lease.token })
        say(
          ended ? `Released ${name}, which ${printable(lease.owner)} held.` : `${name} has ended by itself.`,
          ended,
        )
        return ended ? EXIT.ok : EXIT.no
      },
      { mustExist: true },
    )
  },
}

async function confirm(lease: LeaseRecord, terminal: Terminal): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises')
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  const who = terminal.style('bold', printable(lease.owner))
  const question = `${printable(lease.resource)} is held by ${who}, ${timeLeft(lease)} left. End it? [y/N] `
  // Ctrl-C and Ctrl-D close it, and are a no.
  const closed = new Promise<string>((resolve) => prompt.once('close', () => resolve('\n')))
  const answer = await Promise.race([prompt.question(question).catch(() => closed), closed])
  prompt.close()
  if (answer === '\n') process.stderr.write(answer)
  return /^y(es)?$/i.test(answer.trim())
}
