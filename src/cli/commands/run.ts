import { systemClock } from '../../base/clock.ts'
import { createLeases, type Lease, type Leases } from '../../core/index.ts'
import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { RUN_OPTIONS, readRunOptions } from '../run/options.ts'
import { reapOrphans } from '../run/reaper.ts'
import { createReport } from '../run/report.ts'
import { supervise } from '../run/supervise.ts'
import { trackExpiry } from '../run/track-expiry.ts'
import { WaitReport } from '../run/wait-report.ts'
import { RunSignals, signalExitCode } from '../signals.ts'
import { closed, isNewDefault, storeAddress, withStore } from '../stores/index.ts'
import type { OpenedStore } from '../stores/opened-store.ts'

export const run: Command = {
  usage: 'run [options] <resource> -- <command> [argument…]',
  description: `Holds the lease of a resource while a command runs. Input, output, signals and the exit code are the
command's. In its environment: HOLDFAST_TOKEN, HOLDFAST_RESOURCE, HOLDFAST_LEASE_ID. If the lease cannot be
renewed, the command and its process group are dead before the lease ends: SIGTERM, then SIGKILL.
Exits with ${EXIT.held} when another holds the lease, and with ${EXIT.lost} when it was lost.`,
  positionalCount: [1, 1],
  takesResource: true,
  runsCommand: true,
  options: RUN_OPTIONS,
  examples: [
    ['holdfast run backup -- ./backup.sh --full', 'one backup at a time; the next one waits'],
    ['holdfast run backup --if-available -- ./backup.sh', 'skip this one if another is running'],
    [
      'holdfast run report --if-available --at-least 4m --store redis://db -- ./report.sh',
      'in the cron of several machines: once every five minutes, also if it is done in a second',
    ],
    [
      'holdfast run --once report-$(date +%F) --store redis://db -- ./report.sh',
      'once a day, on whichever machine comes first; a failed run is repeated by the next one',
    ],
    ['holdfast run encode --share 4 -- ./encode.sh', 'at most four at a time'],
    [
      'holdfast run deploy --wait 5m -m ticket=OPS-7 --store redis://db -- make deploy',
      'across machines; wait at most 5 minutes',
    ],
    [
      `holdfast run report -- sh -c 'psql -v token="$HOLDFAST_TOKEN" -f report.sql'`,
      'pass the token to the database, which refuses an older one',
    ],
  ],

  async run({ positionals: [resource = ''], childCommand: command, settings, terminal }) {
    if (process.platform === 'win32')
      throw new Failure(EXIT.failed, 'run needs process groups, which Windows does not have; use WSL')
    const unreaped = reapOrphans()
    if (unreaped !== null) terminal.remark(unreaped)
    const { graceMs, retryFor, keep, ...options } = readRunOptions(settings)
    const report = createReport({ settings, terminal })
    const signals = new RunSignals()
    const address = storeAddress(settings)
    const isNew = isNewDefault(settings)
    const startedAt = performance.now()
    const waitLeft = () => Math.max(0, Math.ceil(options.wait - (performance.now() - startedAt)))
    const hold = async (opened: OpenedStore): Promise<number> => {
      if (keep !== undefined) {
        const { ttl, owner } = options
        const { runOnce } = await import('../run/once.ts')
        return runOnce(await opened.jobs?.(), {
          ...{ id: resource, keep, ttl, owner, graceMs, command, signals, report },
          wait: waitLeft(),
        })
      }
      const { store, remaining, onExtended } = trackExpiry(opened.store)
      const waiting = new WaitReport({
        terminal,
        clock: systemClock,
        resource,
        look: async () => (await opened.store.read([resource]))[0] ?? [],
      })
      const leases = createLeases(store, {
        onEvent(event) {
          report.event(event)
          if (event.type === 'waiting' && !settings.is('quiet')) waiting.start()
        },
        // If this process is killed, its watchdog ends the command. The lease must outlive the command.
        endsWithProcess: false,
      })
      const lease = await acquire(leases, resource, {
        ...options,
        wait: waitLeft(),
        signal: signals.endOfWait,
      }).finally(() => waiting.stop())
      if (isNew) report.created(address)
      if (!lease) return signalExitCode(signals.endOfWait.reason)
      try {
        // A slow grant has used up part of the TTL. The command should start with most of it.
        if (remaining() < options.ttl / 2) await lease.renew().catch(() => {})
        if (!lease.held) throw lease.signal.reason
        if (signals.endOfWait.aborted) return signalExitCode(signals.endOfWait.reason)
        return await supervise(lease, {
          command,
          graceMs,
          ttlMs: options.ttl,
          signals,
          onExtended,
          onEnding: (signal) => report.ending(signal, graceMs),
          onUnguarded: report.unguarded,
        })
      } finally {
        await lease.release().catch(report.unreleased)
        await leases.close()
      }
    }
    try {
      const reaching = { retryFor, signal: signals.endOfWait, onRetry: report.unreached }
      return await withStore(address, hold, reaching)
    } catch (error) {
      // A signal ended the tries to reach the store.
      if (signals.endOfWait.aborted && error === signals.endOfWait.reason)
        return signalExitCode(signals.endOfWait.reason)
      throw error
    }
  },
}

/** `null`: a signal ended the wait, and the request was withdrawn. */
async function acquire(
  leases: Leases,
  resource: string,
  options: NonNullable<Parameters<Leases['acquire']>[1]> & { readonly signal: AbortSignal },
): Promise<Lease | null> {
  try {
    return await leases.acquire(resource, options)
  } catch (error) {
    // Leaves the queue.
    await closed(leases)
    if (options.signal.aborted) return null
    throw error
  }
}
