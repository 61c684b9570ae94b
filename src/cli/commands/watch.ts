import { constants } from 'node:os'
import { type Command, STORE_OPTIONS } from '../command.ts'
import { leaseToJson } from '../describe-lease.ts'
import { SIGNAL_BASE } from '../exit-codes.ts'
import { asFailure } from '../failure.ts'
import { type LeaseChange, LiveLeases } from '../live-leases.ts'
import { storeAddress, withoutPassword, withStore } from '../stores/index.ts'
import type { Terminal } from '../terminal.ts'

export const watch: Command = {
  usage: 'watch [options] [prefix]',
  about: `Follows leases as they are taken, renewed, released and run out. A live table on a terminal (q ends it);
in a pipe, or with --json, a line of JSON for each change, those that are held already first.`,
  takes: [0, 1],
  options: STORE_OPTIONS,
  examples: [
    { line: 'holdfast watch', does: 'a live table of all leases' },
    { line: `holdfast watch backup: | jq -r '.type + " " + .resource'`, does: 'changes, for programs' },
  ],

  async run({ positionals: [prefix = ''], settings, terminal }) {
    const address = storeAddress(settings)
    const isLive = terminal.isInteractive && !settings.is('json')
    return withStore(address, async ({ store }) => {
      const screen = isLive
        ? (await import('../watch-screen.ts')).openScreen(terminal, withoutPassword(address))
        : undefined
      try {
        const show = screen ? screen.note : printChange(terminal)
        await using live = await LiveLeases.follow(store, prefix, show, (error) =>
          screen ? screen.trouble(error) : terminal.remark(asFailure(error).message),
        )
        const quit = screen?.show(() => live.current)
        return await Promise.race([signalled(), ...(quit ? [quit] : [])])
      } finally {
        screen?.close()
      }
    })
  },
}

function printChange(terminal: Terminal): (change: LeaseChange) => void {
  return ({ type, lease }) => {
    const { state: _, ...shown } = leaseToJson(lease)
    terminal.print(JSON.stringify({ at: new Date().toISOString(), type, ...shown }))
  }
}

function signalled(): Promise<number> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.once(signal, () => resolve(SIGNAL_BASE + constants.signals[signal]))
  })
}
