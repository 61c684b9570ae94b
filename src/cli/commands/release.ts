import type { LeaseRecord } from '../../base/records.ts'
import { checkResource } from '../../base/resource-name.ts'
import { type Command, flag, STORE_OPTIONS, valueOption } from '../command.ts'
import { timeLeft } from '../describe-lease.ts'
import { EXIT } from '../exit-codes.ts'
import { usageFailure } from '../failure.ts'
import { jsonText } from '../json-text.ts'
import { leaseToJson } from '../lease-json.ts'
import { storeAddress, withStore } from '../stores/index.ts'
import { alignColumns, printable, type Terminal } from '../terminal.ts'

export const release: Command = {
  usage: 'release --force [options] <resource>',
  description: `Ends a lease, no matter who holds it. A holdfast run that held it kills its command at once. The signal of
other holders aborts, and a resource that checks tokens refuses theirs. On a terminal, it asks first; elsewhere
--yes is required. If several hold the resource, it asks which lease to end; elsewhere --token or --all is required.
A lease that has ended and only keeps the resource is ended too.
Exits with ${EXIT.no} when nobody held the lease, or when the answer was no.`,
  positionalCount: [1, 1],
  takesResource: true,
  options: {
    force: flag('required, because only the holder may release without force'),
    yes: flag('do not ask for confirmation', 'y'),
    token: valueOption('<number>', 'end the lease with this token'),
    all: flag('end all leases of the resource'),
    ...STORE_OPTIONS,
  },
  examples: [
    ['holdfast release --force backup', 'show the holder, ask, and end the lease'],
    ['holdfast release --force --yes backup', 'in a script'],
    ['holdfast release --force --yes --all pool', 'all holders of a shared resource'],
  ],

  async run({ positionals: [resource = ''], settings, terminal }) {
    if (!settings.is('force'))
      throw usageFailure('only the holder may release a lease; --force ends it, no matter who holds it')
    const isSure = settings.is('yes')
    const isAll = settings.is('all')
    const token = settings.wholeNumber('token')
    if (isAll && token !== undefined) throw usageFailure('expected --token or --all, got both')
    const canAsk = process.stdin.isTTY && process.stderr.isTTY
    if (!isSure && !canAsk)
      throw usageFailure('there is no terminal to ask for confirmation; confirm with --yes')
    const name = checkResource(resource)
    const print = (text: string, ended: unknown) =>
      terminal.print(settings.is('json') ? jsonText(ended) : text)

    return withStore(
      storeAddress(settings),
      async ({ store }) => {
        const [holders = []] = await store.read([name])
        const named = holders.filter((lease) => token === undefined || lease.token === token)
        terminal.step('')
        const [first] = named
        if (!first) {
          const which = token === undefined ? '' : ` with the token ${token}`
          print(`Nobody holds ${printable(name)}${which}.`, isAll ? [] : null)
          return EXIT.no
        }
        const isOpen = named.length > 1 && !isAll
        if (isOpen && isSure) throw usageFailure(severalHold(name, named))
        const chosen = isSure ? named : await ask(first, named, isOpen, terminal)
        if (chosen.length === 0) {
          print('Nothing was released.', isAll ? [] : null)
          return EXIT.no
        }
        const ended: LeaseRecord[] = []
        for (const lease of chosen) {
          // By its token, so that it cannot end the lease of the next holder.
          const released = await store.release({ resource: name, token: lease.token })
          if (released.ended) ended.push(released.ended)
        }
        const isList = isAll || chosen.length > 1
        const shown = ended.map(leaseToJson)
        print(releasedText(name, chosen, ended), isList ? shown : (shown[0] ?? null))
        return ended.length > 0 ? EXIT.ok : EXIT.no
      },
      { mustExist: true, onStep: terminal.step },
    )
  },
}

function severalHold(resource: string, holders: readonly LeaseRecord[]): string {
  const each = holders.map(({ owner, token }) => `${printable(owner)} (token ${token})`)
  return `${printable(resource)} is held by ${each.join(', ')}; end one with --token, or all with --all`
}

function releasedText(
  resource: string,
  chosen: readonly LeaseRecord[],
  ended: readonly LeaseRecord[],
): string {
  const name = printable(resource)
  const tokens = new Set(ended.map(({ token }) => token))
  return chosen
    .map(({ owner, token, state }) => {
      if (!tokens.has(token))
        return `The lease of ${name} that ${printable(owner)} held ended before it could be released.`
      return state === 'kept'
        ? `Freed ${name}, which the last lease of ${printable(owner)} kept.`
        : `Released ${name}, which ${printable(owner)} held.`
    })
    .join('\n')
}

/** The leases to end. `isOpen`: the user chooses one of them, or all. */
async function ask(
  first: LeaseRecord,
  holders: readonly LeaseRecord[],
  isOpen: boolean,
  terminal: Terminal,
): Promise<readonly LeaseRecord[]> {
  const name = printable(first.resource)
  if (holders.length > 1) {
    const rows = holders.map((lease, n) => [
      `  ${n + 1}`,
      terminal.style('bold', printable(lease.owner)),
      `token ${lease.token}`,
      `${lease.state === 'kept' ? 'kept, ' : ''}${timeLeft(lease)} left`,
    ])
    process.stderr.write(`${name} is held by\n${alignColumns(rows).join('\n')}\n`)
  }
  if (isOpen) {
    const answer = await answerTo(`End which? [1-${holders.length}, all, N] `)
    if (/^all$/i.test(answer)) return holders
    return holders.filter((_, n) => answer === String(n + 1))
  }
  const who = terminal.style('bold', printable(first.owner))
  const how = first.state === 'kept' ? 'kept by the last lease of' : 'held by'
  const question =
    holders.length > 1 ? 'End all of them?' : `${name} is ${how} ${who}, ${timeLeft(first)} left. End it?`
  return /^y(es)?$/i.test(await answerTo(`${question} [y/N] `)) ? holders : []
}

async function answerTo(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  // Ctrl-C and Ctrl-D close the prompt. That counts as no.
  const closed = new Promise<string>((resolve) => prompt.once('close', () => resolve('\n')))
  const answer = await Promise.race([prompt.question(question).catch(() => closed), closed])
  prompt.close()
  if (answer === '\n') process.stderr.write(answer)
  return answer.trim()
}
