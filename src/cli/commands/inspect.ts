import { checkResource } from '../../base/resource-name.ts'
import type { LeaseStore } from '../../core/index.ts'
import { type Command, STORE_OPTIONS } from '../command.ts'
import { resourceDetails } from '../describe-lease.ts'
import { EXIT } from '../exit-codes.ts'
import { jsonText } from '../json-text.ts'
import { leaseToJson, queueToJson } from '../lease-json.ts'
import { SHOWN_WAITERS } from '../options.ts'
import { storeAddress, withStore } from '../stores/index.ts'
import { printable } from '../terminal.ts'

export const inspect: Command = {
  usage: 'inspect [options] <resource>',
  description: `Shows who holds the leases of a resource, since when and until when, and the waiting callers in their order.
A resource that only its last lease keeps, by --at-least or --lock-delay, has the state kept.
Exits with ${EXIT.no} when nobody holds it and nothing keeps it.`,
  positionalCount: [1, 1],
  takesResource: true,
  options: STORE_OPTIONS,
  examples: [
    ['holdfast inspect backup', 'who holds it'],
    ['holdfast inspect backup >/dev/null && echo busy', 'check it in a script'],
  ],

  async run({ positionals: [resource = ''], settings, terminal }) {
    const name = checkResource(resource)
    const { holders, queue } = await withStore(storeAddress(settings), ({ store }) => look(store, name), {
      mustExist: true,
      onStep: terminal.step,
    })
    const [oldest] = holders
    const shown = oldest && {
      ...leaseToJson(oldest),
      holders: holders.map(leaseToJson),
      waiting: queueToJson(queue),
    }
    if (settings.is('json')) terminal.print(jsonText(shown ?? null))
    else if (oldest) for (const line of resourceDetails(holders, terminal, queue)) terminal.print(line)
    else terminal.print(`Nobody holds ${printable(name)}.`)
    return oldest ? EXIT.ok : EXIT.no
  },
}

async function look(store: LeaseStore, resource: string) {
  const [holders = []] = await store.read([resource])
  const [queue = null] = (await store.waiting?.({ resources: [resource], limit: SHOWN_WAITERS })) ?? []
  return { holders, queue }
}
