import { createLeases, type LeaseRecord } from '../../core/index.ts'
import { type Command, STORE_OPTIONS } from '../command.ts'
import { leaseToJson } from '../describe-lease.ts'
import { EXIT } from '../exit-codes.ts'
import { storeAddress, withStore } from '../stores/index.ts'

const DEFAULT_LIMIT = 100

export const ls: Command = {
  usage: 'ls [options] [prefix]',
  about:
    'Lists the leases that are held, in order of their names. In a pipe: one line each, fields between tabs.',
  takes: [0, 1],
  options: {
    limit: { type: 'string', value: '<number>', help: `at most so many (default ${DEFAULT_LIMIT})` },
    ...STORE_OPTIONS,
  },
  examples: [
    { line: 'holdfast ls', does: 'who holds what' },
    { line: 'holdfast ls backup: --store redis://localhost', does: 'only names that begin with backup:' },
    { line: `holdfast ls --json | jq -r '.[].owner'`, does: 'for programs' },
  ],

  async run({ positionals: [prefix = ''], settings, terminal }) {
    const limit = settings.wholeNumber('limit') ?? DEFAULT_LIMIT
    // One more than is shown tells whether there are more.
    const found = await withStore(
      storeAddress(settings),
      ({ store }) => createLeases(store).list({ prefix, limit: limit + 1 }),
      { mustExist: true },
    )
    const leases = found.slice(0, limit)
    if (settings.is('json')) terminal.print(JSON.stringify(leases.map(leaseToJson), null, 2))
    else if (!terminal.isInteractive) for (const lease of leases) terminal.print(fields(lease).join('\t'))
    else {
      const { leaseTable, NOTHING_HELD } = await import('../lease-table.ts')
      const lines = leases.length > 0 ? leaseTable(leases, terminal) : [NOTHING_HELD]
      for (const line of lines) terminal.print(line)
    }
    if (found.length > limit) terminal.remark(`there are more than ${limit}; --limit shows more`)
    return EXIT.ok
  },
}

function fields(lease: LeaseRecord): string[] {
  const { resource, owner, token, acquiredAt, expiresAt } = leaseToJson(lease)
  return [resource, owner.replaceAll(/\s/g, ' '), String(token), acquiredAt, expiresAt ?? '']
}
