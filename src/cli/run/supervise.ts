import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { Lease } from '../../core/index.ts'
import { EXIT, SIGNAL_BASE } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { Countdown } from './countdown.ts'
import { startGuard } from './guard.ts'
import { later, type Moment } from './moment.ts'
import { clearSession, endSession, signalGroup } from './session.ts'
import type { Signals } from './signals.ts'

export interface Supervision {
  readonly command: readonly string[]
  readonly graceMs: number
  readonly ttlMs: number
  readonly signals: Signals
  /** Calls back with each moment until which the store vouches for the lease, first with the latest. */
  onVouched(listener: (until: Moment) => void): void
  /** The command is being ended because its lease is. */
  onEnding(signal: 'SIGTERM' | 'SIGKILL'): void
  /** The guard has died: if `run` dies as well, the command goes on. */
  onUnguarded(): void
}

/** From the last moment of a lease back to the kill: for the clocks' drift, as the core has it, and for the kill. */
const DRIFT = 0.02
const KILL_SHARE = 0.08
const KILL_LIMIT_MS = 2000

/**
 * Runs the command while the lease is held, and ends it, with all that it started, before the lease ends.
 * Resolves with the exit code when nobody of them is left.
 */
export async function supervise(lease: Lease, supervision: Supervision): Promise<number> {
  const { command, graceMs, ttlMs, signals, onVouched, onEnding, onUnguarded } = supervision
  const guard = startGuard(onUnguarded)
  const child = start(command, lease)
  const exit = exitOf(child, command)
  const leader = child.pid
  // It could not be started; `exit` says why.
  if (leader === undefined) return exit.finally(() => guard.dismiss())
  guard.tell({ type: 'guard', leader, graceMs, isNested: 'HOLDFAST_LEASE_ID' in process.env })

  let isStopped = false
  const countdown = new Countdown(graceMs, (signal) => {
    isStopped = true
    if (signal === 'SIGTERM') guard.tell({ type: 'asked' })
    if (endSession(leader, signal)) onEnding(signal)
  })
  const margin = ttlMs * DRIFT + Math.min(ttlMs * KILL_SHARE, KILL_LIMIT_MS)
  onVouched((until) => {
    const killAt = later(until, -margin)
    countdown.extend(killAt)
    guard.tell({ type: 'extend', killAt })
  })
  const onLost = () => countdown.killNow()
  lease.signal.addEventListener('abort', onLost)
  if (lease.signal.aborted) onLost()
  signals.forward((signal) => signalGroup(leader, signal))

  const code = await exit
  await clearSession(leader, graceMs)
  countdown.cancel()
  lease.signal.removeEventListener('abort', onLost)
  guard.dismiss()
  return isStopped ? EXIT.lost : code
}

function start([file = '', ...args]: readonly string[], { token, resource, id }: Lease): ChildProcess {
  return spawn(file, args, {
    stdio: 'inherit',
    // A session and process group of its own, to which signals can be sent as one.
    detached: true,
    env: {
      ...process.env,
      HOLDFAST_TOKEN: String(token),
      HOLDFAST_RESOURCE: resource,
      HOLDFAST_LEASE_ID: id,
    },
  })
}

function exitOf(child: ChildProcess, [file]: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code, signal) =>
      resolve(signal ? SIGNAL_BASE + constants.signals[signal] : (code ?? EXIT.failed)),
    )
    child.once('error', (cause: NodeJS.ErrnoException) => {
      const failure =
        cause.code === 'ENOENT'
          ? new Failure(EXIT.notFound, `there is no command ${file}; is it on the PATH?`, { cause })
          : new Failure(EXIT.notExecutable, `${file} cannot be run: ${cause.message}`, { cause })
      reject(failure)
    })
  })
}
