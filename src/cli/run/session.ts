/**
 * The processes of a command. It leads its own session, so the command and all processes that it starts are one
 * process group. Only the jobs of a shell with job control have groups of their own within the session, and only Linux
 * lists those. A process that starts a new session is no longer found.
 */
import { systemClock } from '../../base/clock.ts'
import { pause } from '../../base/pause.ts'
import { SESSION_CHECK_EVERY_MS, SESSION_KILL_LIMIT_MS } from '../options.ts'
import type { EndSignal } from './countdown.ts'
import { environmentOf, linuxProcesses } from './linux-processes.ts'

/** Of a command: the id of the lease under which it runs. */
export const LEASE_VARIABLE = 'HOLDFAST_LEASE_ID'

/** The command that runs under this lease. `undefined` if it does not run, or the system does not tell. */
export function leaderUnder(leaseId: string): number | undefined {
  if (process.platform !== 'linux') return undefined
  const variable = `${LEASE_VARIABLE}=${leaseId}`
  return linuxProcesses().find(({ pid, session }) => pid === session && environmentOf(pid).includes(variable))
    ?.pid
}

/** Signals all processes of the session. Returns whether there was any. */
export function endSession(leader: number, signal: EndSignal): boolean {
  // The group of the leader first, because to list all processes takes time.
  let found = signalGroup(leader, signal)
  const jobs = new Set(groupsIn(leader))
  jobs.delete(leader)
  for (const group of jobs) found = signalGroup(group, signal) || found
  return found
}

/** Ends the processes that are left in the session. Resolves when there are none. */
export async function clearSession(leader: number, graceMs: number): Promise<void> {
  if (!isAlive(leader)) return
  endSession(leader, 'SIGTERM')
  if (await isGone(leader, graceMs)) return
  endSession(leader, 'SIGKILL')
  await isGone(leader, SESSION_KILL_LIMIT_MS)
}

/** Returns false if the group has no process. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal)
    // A stopped process handles SIGTERM only when it continues.
    if (signal === 'SIGTERM') process.kill(-group, 'SIGCONT')
    return true
  } catch (error) {
    // The group exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export function isAlive(leader: number): boolean {
  return process.platform === 'linux' ? groupsIn(leader).length > 0 : signalGroup(leader, 0)
}

async function isGone(leader: number, limitMs: number): Promise<boolean> {
  const end = performance.now() + limitMs
  while (isAlive(leader)) {
    if (performance.now() > end) return false
    await pause(systemClock, SESSION_CHECK_EVERY_MS)
  }
  return true
}

/** The group of each process in the session, without zombie processes. */
function groupsIn(session: number): number[] {
  if (process.platform !== 'linux') return []
  return linuxProcesses()
    .filter((process) => process.session === session && !['Z', 'X'].includes(process.state))
    .map(({ group }) => group)
}
