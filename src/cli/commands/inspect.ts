import { checkResource } from '../../base/resource-name.ts'
import { type Command, STORE_OPTIONS } from '../command.ts'
import { leaseDetails, leaseToJson } from '../describe-lease.ts'
import { EXIT } from '../exit-codes.ts'
import { storeAddress, withStore } from '../stores/index.ts'
import { printable } from '../terminal.ts'

export const inspect: Command = {
  usage: 'inspect [options] <resource>',
  description: `Shows who holds a lease, since when and until when. Exits with ${EXIT.no} when nobody holds it.`,
  positionalCount: [1, 1],
  options: STORE_OPTIONS,
  examples: [
    { line: 'holdfast inspect backup', text: 'who holds it' },
    { line: 'holdfast inspect backup >/dev/null && echo busy', text: 'check it in a script' },
  ],

  async run({ positionals: [resource = ''], settings, terminal }) {
    const name = checkResource(resource)
    const [lease = null] = await withStore(storeAddress(settings), ({ store }) => store.read([name]), {
      mustExist: true,
    })
    if (settings.is('json')) terminal.print(JSON.stringify(lease && leaseToJson(lease), null, 2))
    else if (lease) for (const line of leaseDetails(lease, terminal)) terminal.print(line)
    else terminal.print(`Nobody holds ${printable(name)}.`)
    return lease ? EXIT.ok : EXIT.no
  },
}
