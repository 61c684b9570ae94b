import { checkResource } from '../../base/resource-name.ts'
import type { LeaseStore } from '../../core/index.ts'
import { type Command, STORE_OPTIONS } from '../command.ts'
import { leaseDetails, leaseToJson } from '../describe-lease.ts'
import { EXIT } from '../exit-codes.ts'
import { storeAddress, withStore } from '../stores/index.ts'
import { printable } from '../terminal.ts'

const SHOWN_WAITERS = 10

export const inspect: Command = {
  usage: 'inspect [options] <resource>',
  description: `Shows who holds a lease, since when and until when, and who waits for it. Exits with ${EXIT.no} when nobody holds it.`,
  positionalCount: [1, 1],
  options: STORE_OPTIONS,
  examples: [
    { line: 'holdfast inspect backup', text: 'who holds it' },
    { line: 'holdfast inspect backup >/dev/null && echo busy', text: 'check it in a script' },
  ],

  async run({ positionals: [resource = ''], settings, terminal }) {
    const name = checkResource(resource)
    const { lease, queue } = await withStore(storeAddress(settings), ({ store }) => look(store, name), {
      mustExist: true,
      onStep: terminal.step,
    })
    const shown = lease && { ...leaseToJson(lease), waiting: queue }
    if (settings.is('json')) terminal.print(JSON.stringify(shown, null, 2))
    else if (lease) for (const line of leaseDetails(lease, terminal, queue)) terminal.print(line)
    else terminal.print(`Nobody holds ${printable(name)}.`)
    return lease ? EXIT.ok : EXIT.no
  },
}

async function look(store: LeaseStore, resource: string) {
  const [[lease = null] = []] = await store.read([resource])
  const [queue = null] = (await store.waiting?.({ resources: [resource], limit: SHOWN_WAITERS })) ?? []
  return { lease, queue }
}
