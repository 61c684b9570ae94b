import { constants } from 'node:os'
import { createLeases, type Lease, type Leases } from '../../core/index.ts'
import { type Command, STORE_OPTIONS, settingOption } from '../command.ts'
import { EXIT, SIGNAL_BASE } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { reporter } from '../run/report.ts'
import { Signals } from '../run/signals.ts'
import { supervise } from '../run/supervise.ts'
import { vouchingStore } from '../run/vouching-store.ts'
import { readWish } from '../run/wish.ts'
import { storeAddress, withStore } from '../stores/index.ts'

export const run: Command = {
  usage: 'run [options] <resource> -- <command> [argument…]',
  about: `Holds the lease of a resource while a command runs. Input, output, signals and the exit code are the
command's. In its environment: HOLDFAST_TOKEN, HOLDFAST_RESOURCE, HOLDFAST_LEASE_ID. If the lease cannot be
renewed, the command and all of its process group are dead before the lease ends: SIGTERM, then SIGKILL.
Exits with ${EXIT.held} when another holds the lease, and with ${EXIT.lost} when it was lost.`,
  takes: [1, 1],
  runsCommand: true,
  options: {
    wait: {
      type: 'string',
      value: '<duration>',
      setting: 'environment',
      help: 'wait so long for the lease (default: without end)',
    },
    'if-available': { type: 'boolean', help: `do not wait: exit with ${EXIT.held} if another holds it` },
    ttl: settingOption('ttl'),
    grace: {
      type: 'string',
      value: '<duration>',
      help: 'from SIGTERM to SIGKILL (default: a sixth of the TTL)',
    },
    owner: {
      type: 'string',
      value: '<name>',
      setting: 'environment',
      help: 'who holds it, as shown to others (default user@host:pid)',
    },
    metadata: {
      type: 'string',
      short: 'm',
      value: '<key=value>',
      multiple: true,
      help: 'shown to others; may be repeated, or be one JSON object',
    },
    quiet: { type: 'boolean', short: 'q', help: 'do not tell of waiting' },
    ...STORE_OPTIONS,
  },
  examples: [
    { line: 'holdfast run backup -- ./backup.sh --full', does: 'one backup at a time; the next one waits' },
    {
      line: 'holdfast run backup --if-available -- ./backup.sh',
      does: 'skip this one if another is running',
    },
    {
      line: 'holdfast run deploy --wait 5m -m ticket=OPS-7 --store redis://db -- make deploy',
      does: 'across machines, waiting 5 minutes at the most',
    },
    {
      line: `holdfast run report -- sh -c 'psql -v token="$HOLDFAST_TOKEN" -f report.sql'`,
      does: 'hand the token to the database, which refuses an older one',
    },
  ],

  async run({ positionals: [resource = ''], rest: command, settings, terminal }) {
    if (process.platform === 'win32')
      throw new Failure(EXIT.failed, 'run needs process groups, which Windows has not; use WSL')
    const { graceMs, ...options } = readWish(settings)
    const report = reporter({ settings, terminal })
    const signals = new Signals()
    return withStore(storeAddress(settings), async (opened) => {
      const { store, left, onVouched } = vouchingStore(opened.store)
      const leases = createLeases(store, { onEvent: report.event })
      const lease = await acquire(leases, resource, { ...options, signal: signals.end })
      if (!lease) return SIGNAL_BASE + constants.signals[signals.end.reason as NodeJS.Signals]
      try {
        // A grant that was long on its way is short: the command is to begin with a long one.
        if (left() < options.ttl / 2) await lease.renew().catch(() => {})
        if (!lease.held) throw lease.signal.reason
        return await supervise(lease, {
          ...{ command, graceMs, ttlMs: options.ttl, signals, onVouched },
          onEnding: (signal) => report.ending(signal, graceMs),
          onUnguarded: report.unguarded,
        })
      } finally {
        await lease.release().catch(report.unreleased)
        await leases.close()
      }
    })
  },
}

/** `null`: a signal ended the wait, and what was asked for is given up. */
async function acquire(
  leases: Leases,
  resource: string,
  options: NonNullable<Parameters<Leases['acquire']>[1]> & { readonly signal: AbortSignal },
): Promise<Lease | null> {
  try {
    return await leases.acquire(resource, options)
  } catch (error) {
    await leases.close()
    if (options.signal.aborted) return null
    throw error
  }
}
