import type { LeaseRecord } from '../../base/records.ts'
import { checkPrefix } from '../../base/resource-name.ts'
import type { LookingStore } from '../../core/index.ts'
import { type Command, STORE_OPTIONS, valueOption } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { jsonText } from '../json-text.ts'
import { leaseToJson } from '../lease-json.ts'
import { countHolders, countWaiters, leaseTable, NOTHING_HELD } from '../lease-table.ts'
import { listLeases } from '../list-leases.ts'
import { LISTED_LEASES, PROGRESS_EVERY_LEASES } from '../options.ts'
import { storeAddress, withStore } from '../stores/index.ts'
import { printable, type Terminal } from '../terminal.ts'

export const ls: Command = {
  usage: 'ls [options] [prefix]',
  description:
    'Lists the leases that are held or kept, ordered by resource. In a pipe: one line for each, with tabs between fields.',
  positionalCount: [0, 1],
  options: {
    limit: valueOption('<number>', `how many to list at most (default ${LISTED_LEASES})`),
    ...STORE_OPTIONS,
  },
  examples: [
    ['holdfast ls', 'who holds which lease'],
    ['holdfast ls backup: --store redis://localhost', 'only names that begin with backup:'],
    [`holdfast ls --json | jq -r '.[].owner'`, 'for programs'],
  ],

  async run({ positionals: [start = ''], settings, terminal }) {
    const prefix = checkPrefix({ prefix: start })
    const limit = settings.wholeNumber('limit') ?? LISTED_LEASES
    const { leases, hasMore, holders, waiters } = await withStore(
      storeAddress(settings),
      ({ store }) => look(store, prefix, limit, terminal),
      { mustExist: true, onStep: terminal.step },
    )
    const waiting = ({ resource }: LeaseRecord) => waiters && (waiters.get(resource) ?? 0)
    if (settings.is('json')) {
      const shown = leases.map((lease) => ({ ...leaseToJson(lease), waiting: waiting(lease) }))
      terminal.print(jsonText(shown))
    } else if (!terminal.isInteractive)
      for (const lease of leases)
        terminal.print([...fields(lease), waiting(lease) ?? '', lease.state].join('\t'))
    else {
      const lines = leases.length > 0 ? leaseTable(leases, terminal, holders, waiters) : [NOTHING_HELD]
      for (const line of lines) terminal.print(line)
    }
    if (hasMore) terminal.remark(`there are more than ${limit} leases; --limit lists more`)
    return EXIT.ok
  },
}

/** The leases, and how many hold and wait for each of their resources. */
async function look(store: LookingStore, prefix: string, limit: number, terminal: Terminal) {
  // One more than is printed, to know whether there are more.
  const found = await firstLeases(store, prefix, limit + 1, terminal)
  const hasMore = found.length > limit
  const holders = new Map(countHolders(found))
  const last = hasMore ? found.at(-1) : undefined
  if (last) {
    // The list may end between two leases of a resource.
    const [all = []] = await store.read([last.resource])
    holders.set(last.resource, all.length)
  }
  const leases = found.slice(0, limit)
  return { leases, hasMore, holders, waiters: await countWaiters(store, leases) }
}

async function firstLeases(
  store: LookingStore,
  prefix: string,
  count: number,
  terminal: Terminal,
): Promise<LeaseRecord[]> {
  const leases: LeaseRecord[] = []
  for await (const lease of listLeases(store, prefix, count)) {
    leases.push(lease)
    if (leases.length % PROGRESS_EVERY_LEASES === 0)
      terminal.step(`${leases.length.toLocaleString('en')} leases read`)
    if (leases.length === count) break
  }
  return leases
}

function fields(lease: LeaseRecord): string[] {
  const { resource, owner, token, acquiredAt, expiresAt, share } = leaseToJson(lease)
  return [
    resource,
    printable(owner.replaceAll(/\s/g, ' ')),
    String(token),
    acquiredAt,
    expiresAt ?? '',
    String(share ?? ''),
  ]
}
