import type { LeaseError } from '../../base/errors.ts'
import type { LeaseRecord } from '../../base/records.ts'
import { redactAddress } from '../../base/redact.ts'
import type { WaitingQuery } from '../../core/index.ts'
import { type Command, STORE_OPTIONS } from '../command.ts'
import { asFailure } from '../failure.ts'
import { jsonText } from '../json-text.ts'
import { leaseToJson } from '../lease-json.ts'
import { followLeases, type LeaseChange } from '../live-leases.ts'
import { nextSignal, signalExitCode } from '../signals.ts'
import { storeAddress, withStore } from '../stores/index.ts'
import type { Terminal } from '../terminal.ts'

export const watch: Command = {
  usage: 'watch [options] [prefix]',
  description: `Follows leases as they are acquired, renewed, released and expire. On a terminal: a live table, with keys
to select, inspect, filter, sort and release. In a pipe, or with --json: a line of JSON for each change, first for the leases that are already held or kept. The type gap says that changes may have been missed; the leases are then listed again.`,
  positionalCount: [0, 1],
  options: STORE_OPTIONS,
  examples: [
    ['holdfast watch', 'a live table of all leases'],
    [`holdfast watch backup: | jq -r '.type + " " + .resource'`, 'changes, for programs'],
  ],

  async run({ positionals: [prefix = ''], settings, terminal }) {
    const address = storeAddress(settings)
    const isLive = terminal.isInteractive && !settings.is('json')
    return withStore(address, async ({ store }) => {
      // Before the screen opens, so that a signal during the start restores the terminal too.
      const signalled = nextSignal('SIGINT', 'SIGTERM', 'SIGHUP').then(signalExitCode)
      const screen = isLive
        ? new (await import('../watch-screen.ts')).Screen(terminal, redactAddress(address))
        : undefined
      const follow = async () => {
        await using live = await followLeases(store, {
          prefix,
          onChange: screen ? (change) => screen.addChange(change) : printChange(terminal),
          onGap: screen ? (error) => error && screen.showProblem(error) : printGap(terminal),
        })
        const release = async ({ resource, token }: LeaseRecord) =>
          // By its token, so that it cannot end the lease of the next holder.
          (await store.release({ resource, token })).ended !== null
        const waiting = async (query: WaitingQuery) => (await store.waiting?.(query)) ?? []
        return await (screen?.showUntilQuit({ leases: () => live.current, release, waiting }) ?? signalled)
      }
      try {
        return await Promise.race([signalled, follow()])
      } finally {
        screen?.close()
      }
    })
  },
}

function printChange(terminal: Terminal): (change: LeaseChange) => void {
  return ({ type, lease }) => {
    const { state: _, ...shown } = leaseToJson(lease)
    terminal.print(jsonText({ at: new Date().toISOString(), type, ...shown }, 0))
  }
}

function printGap(terminal: Terminal): (error: LeaseError | undefined) => void {
  return (error) => {
    terminal.print(jsonText({ at: new Date().toISOString(), type: 'gap' }, 0))
    if (error) terminal.remark(asFailure(error).message)
  }
}
