/**
 * Runs a command under a lease. The command must be dead before the lease ends, also when `run` itself hangs or dies. Two
 * processes ensure it, with the same `Countdown`: `run`, and a watchdog that it starts beside the command and informs of every
 * renewal through a pipe, which breaks when `run` dies. Both count from before the last acknowledged renewal was sent, by the
 * monotonic clock of the machine, which all its processes share, and by the wall clock. The watchdog sends SIGTERM slightly
 * later than `run` would, so that the command gets one and not two; both kill at the same moment. The command leads its own
 * session, so that all its processes can be signalled at once.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { onAbort } from '../../base/abort.ts'
import type { Moment } from '../../base/clock.ts'
import { DRIFT } from '../../base/options.ts'
import type { Lease } from '../../core/index.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { KILL_FRACTION, KILL_LIMIT_MS } from '../options.ts'
import { type RunSignals, signalExitCode } from '../signals.ts'
import { Countdown, type EndSignal, later } from './countdown.ts'
import { clearSession, endSession, LEASE_VARIABLE, signalGroup } from './session.ts'
import { startWatchdog } from './watchdog.ts'

/** What the command runs under. */
export type SupervisedLease = Pick<Lease, 'id' | 'resource' | 'token' | 'signal'>

export interface Supervision {
  readonly command: readonly string[]
  readonly graceMs: number
  readonly ttlMs: number
  readonly signals: RunSignals
  /** Calls back with the confirmed end of the lease, now and after each renewal. */
  onExtended(listener: (until: Moment) => void): void
  /** The command was sent this signal, because its lease ends. */
  onEnding(signal: EndSignal): void
  /** The watchdog has exited. If `run` is killed now, the command keeps running. */
  onUnguarded(): void
}

/**
 * Runs the command while the lease is held. Before the lease ends, it ends the command and all processes that the
 * command started. Resolves with the exit code when none of them is left.
 */
export async function supervise(lease: SupervisedLease, supervision: Supervision): Promise<number> {
  const { command, graceMs, ttlMs, signals, onExtended, onEnding, onUnguarded } = supervision
  const watchdog = startWatchdog(onUnguarded)
  watchdog.send({ type: 'starting', leaseId: lease.id, graceMs, isNested: LEASE_VARIABLE in process.env })
  const child = start(command, lease)
  const exit = exitOf(child, command)
  const leader = child.pid
  // The command could not be started. `exit` rejects with the reason.
  if (leader === undefined) return exit.finally(() => watchdog.close())
  watchdog.send({ type: 'started', leader })

  let isEndedEarly = false
  const countdown = new Countdown(graceMs, (signal) => {
    isEndedEarly = true
    if (signal === 'SIGTERM') watchdog.send({ type: 'terminating' })
    if (endSession(leader, signal)) onEnding(signal)
  })
  const margin = ttlMs * DRIFT + Math.min(ttlMs * KILL_FRACTION, KILL_LIMIT_MS)
  onExtended((until) => {
    const killAt = later(until, -margin)
    countdown.extend(killAt)
    watchdog.send({ type: 'extend', killAt })
  })
  const unlisten = onAbort(lease.signal, () => countdown.killNow())
  signals.forwardTo((signal) => signalGroup(leader, signal))

  const code = await exit
  await clearSession(leader, graceMs)
  const { isDue } = countdown
  countdown.cancel()
  unlisten()
  const watchdogEndedIt = watchdog.close()
  // If this process was stopped, its watchdog has ended the command, and this process hears of its exit first.
  return isEndedEarly || (isDue && (await watchdogEndedIt)) ? EXIT.lost : code
}

function start(
  [file = '', ...args]: readonly string[],
  { token, resource, id }: SupervisedLease,
): ChildProcess {
  return spawn(file, args, {
    stdio: 'inherit',
    // Its own session and process group, so that one call signals all of its processes.
    detached: true,
    env: {
      ...process.env,
      HOLDFAST_TOKEN: String(token),
      HOLDFAST_RESOURCE: resource,
      [LEASE_VARIABLE]: id,
    },
  })
}

function exitOf(child: ChildProcess, [file]: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code, signal) => resolve(signal ? signalExitCode(signal) : (code ?? EXIT.failed)))
    child.once('error', (cause: NodeJS.ErrnoException) => {
      const failure =
        cause.code === 'ENOENT'
          ? new Failure(EXIT.notFound, `the command ${file} was not found; check its name and the PATH`, {
              cause,
            })
          : new Failure(EXIT.notExecutable, `the command ${file} cannot be run: ${cause.message}`, { cause })
      reject(failure)
    })
  })
}
