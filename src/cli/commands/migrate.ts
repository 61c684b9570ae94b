import { redactAddress } from '../../base/redact.ts'
import { checkDependencies } from '../../server/index.ts'
import { type Command, STORE_OPTIONS, valueOption } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { usageFailure } from '../failure.ts'
import { jsonText } from '../json-text.ts'
import { storeAddress, withStore } from '../stores/index.ts'
import type { OpenedStore } from '../stores/opened-store.ts'

export const migrate: Command = {
  usage: 'migrate [options] [store]',
  description: `Creates or upgrades everything that commands and serve keep in the store: the tables of leases, documents, audit
and secrets, or a bucket. Run it before a deployment, with the role that owns the tables. It may run again, and on
several machines at once. Nodes of the version before go on. Redis and files need no migration.`,
  positionalCount: [0, 1],
  options: {
    grant: valueOption(
      '<role>',
      'a role of Postgres or a user of MySQL that gets what a node needs, and nothing more',
    ),
    ...STORE_OPTIONS,
  },
  examples: [
    ['holdfast migrate --store postgres://owner@db/app --grant app', 'then serve with postgres://app@db/app'],
  ],

  async run({ positionals, settings, terminal }) {
    const address = storeAddress(settings, positionals[0] ?? settings.text('store'))
    const grantTo = settings.text('grant')
    const migrateStore = async ({ store, migrate, serverParts }: OpenedStore) => {
      terminal.step(`migrating ${redactAddress(address)}`)
      if (migrate) return (await migrate(grantTo === undefined ? {} : { grantTo })).tables
      if (grantTo !== undefined)
        throw usageFailure(`--grant: expected a store of Postgres or MySQL, got ${redactAddress(address)}`)
      const parts = await serverParts?.()
      const [failure] = await checkDependencies({ store, documents: { read: async () => null }, ...parts })
      if (failure) throw failure.error
      return []
    }
    const tables = await withStore(address, migrateStore, { onStep: terminal.step })
    const shown = redactAddress(address)
    if (settings.is('json')) terminal.print(jsonText({ store: shown, tables }))
    else for (const table of tables) terminal.print(table)
    terminal.remark(
      `${shown} is ready for this version${grantTo === undefined ? '' : ` and the role ${grantTo}`}`,
    )
    return EXIT.ok
  },
}
