/**
 * The processes of a command. It leads a session of its own, so it and all that it starts are one process group,
 * except for the jobs of a shell with job control, which have groups of their own in the same session. Only Linux
 * tells of those. Who starts a session anew has left.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_EVERY_MS = 20
/** What a kill cannot end by then hangs in the kernel. */
const KILL_LIMIT_MS = 1000

/** Ends or kills all of the session, and says whether there was anybody. */
export function endSession(leader: number, signal: 'SIGTERM' | 'SIGKILL'): boolean {
  // First without looking: this is the moment that counts.
  let found = signalGroup(leader, signal)
  const jobs = new Set(groupsIn(leader))
  jobs.delete(leader)
  for (const group of jobs) found = signalGroup(group, signal) || found
  return found
}

/** Ends whoever is left in the session; resolves when nobody is. */
export async function clearSession(leader: number, graceMs: number): Promise<void> {
  if (!isAlive(leader)) return
  endSession(leader, 'SIGTERM')
  if (await isGone(leader, graceMs)) return
  endSession(leader, 'SIGKILL')
  await isGone(leader, KILL_LIMIT_MS)
}

/** False when nobody is left in the group. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal)
    // Who was stopped hears it only when it goes on.
    if (signal === 'SIGTERM') process.kill(-group, 'SIGCONT')
    return true
  } catch (error) {
    // Not allowed is not gone.
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
    await sleep(LOOK_EVERY_MS)
  }
  return true
}

/** The group of each member. The dead whom nobody has buried, as in a container without an init, do not count. */
function groupsIn(session: number): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => {
      const [state = '', , group, memberOf] = statusOf(pid)
      return Number(memberOf) === session && !'ZX'.includes(state) ? [Number(group)] : []
    })
}

function statusOf(pid: string): string[] {
  try {
    // "pid (name) state ppid pgrp session …", where the name may hold spaces and brackets.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
