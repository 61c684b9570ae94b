import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_EVERY_MS = 20
/** What a kill cannot end by then hangs in the kernel. */
const KILL_LIMIT_MS = 1000

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

/** Ends whoever is left in the group; resolves when nobody is. */
export async function endGroup(group: number, graceMs: number): Promise<void> {
  if (!isAlive(group)) return
  signalGroup(group, 'SIGTERM')
  if (await isGone(group, graceMs)) return
  signalGroup(group, 'SIGKILL')
  await isGone(group, KILL_LIMIT_MS)
}

async function isGone(group: number, limitMs: number): Promise<boolean> {
  const end = performance.now() + limitMs
  while (isAlive(group)) {
    if (performance.now() > end) return false
    await sleep(LOOK_EVERY_MS)
  }
  return true
}

/** The dead whom nobody has buried, as in a container without an init, do not count. */
export function isAlive(group: number): boolean {
  if (!signalGroup(group, 0)) return false
  if (process.platform !== 'linux') return true
  return readdirSync('/proc').some((entry) => /^\d+$/.test(entry) && isLivingMember(entry, group))
}

function isLivingMember(pid: string, group: number): boolean {
  try {
    // "pid (name) state ppid pgrp …", where the name may hold spaces and brackets.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', , memberOf] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(memberOf) === group && !'ZX'.includes(state)
  } catch {
    return false
  }
}
