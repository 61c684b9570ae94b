import type { LeaseRecord } from '../../base/records.ts'
import { checkResource } from '../../base/resource-name.ts'
import { type Command, STORE_OPTIONS } from '../command.ts'
import { leaseToJson, timeLeft } from '../describe-lease.ts'
import { EXIT } from '../exit-codes.ts'
import { usageFailure } from '../failure.ts'
import { storeAddress, withStore } from '../stores/index.ts'
import { printable, type Terminal } from '../terminal.ts'

export const release: Command = {
  usage: 'release --force [options] <resource>',
  description: `Ends a lease, whoever holds it. A holdfast run that held it kills its command at once. The signal of
other holders aborts, and a resource that checks tokens refuses theirs. On a terminal, it asks first; elsewhere
--yes is required. Exits with ${EXIT.no} when nobody held the lease, or when the answer was no.`,
  positionalCount: [1, 1],
  options: {
    force: { type: 'boolean', help: 'required, because only the holder may release without force' },
    yes: { type: 'boolean', short: 'y', help: 'do not ask for confirmation' },
    ...STORE_OPTIONS,
  },
  examples: [
    { line: 'holdfast release --force backup', text: 'show the holder, ask, and end the lease' },
    { line: 'holdfast release --force --yes backup', text: 'in a script' },
  ],

  async run({ positionals: [resource = ''], settings, terminal }) {
    if (!settings.is('force'))
      throw usageFailure('only the holder may release a lease; --force ends it, whoever holds it')
    const canAsk = process.stdin.isTTY && process.stderr.isTTY
    if (!settings.is('yes') && !canAsk)
      throw usageFailure('there is no terminal to ask for confirmation; confirm with --yes')
    const name = checkResource(resource)
    const print = (text: string, lease: LeaseRecord | null) =>
      terminal.print(settings.is('json') ? JSON.stringify(lease && leaseToJson(lease), null, 2) : text)
    return withStore(
      storeAddress(settings),
      async ({ store }) => {
        const [[lease] = []] = await store.read([name])
        if (!lease) {
          print(`Nobody holds ${printable(name)}.`, null)
          return EXIT.no
        }
        terminal.step('')
        if (!settings.is('yes') && !(await confirm(lease, terminal))) return EXIT.no
        // By its token, so that it cannot end the lease of the next holder.
        const { ended } = await store.release({ resource: lease.resource, token: lease.token })
        print(
          ended
            ? `Released ${printable(name)}, which ${printable(lease.owner)} held.`
            : `The lease of ${printable(name)} ended before it could be released.`,
          ended,
        )
        return ended ? EXIT.ok : EXIT.no
      },
      { mustExist: true, onStep: terminal.step },
    )
  },
}

async function confirm(lease: LeaseRecord, terminal: Terminal): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises')
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  const who = terminal.style('bold', printable(lease.owner))
  const question = `${printable(lease.resource)} is held by ${who}, ${timeLeft(lease)} left. End it? [y/N] `
  // Ctrl-C and Ctrl-D close the prompt. That counts as no.
  const closed = new Promise<string>((resolve) => prompt.once('close', () => resolve('\n')))
  const answer = await Promise.race([prompt.question(question).catch(() => closed), closed])
  prompt.close()
  if (answer === '\n') process.stderr.write(answer)
  return /^y(es)?$/i.test(answer.trim())
}
