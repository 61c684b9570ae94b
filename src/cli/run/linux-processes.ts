import { readdirSync, readFileSync } from 'node:fs'

export interface LinuxProcess {
  readonly pid: number
  /** A letter, such as `Z` for a zombie. */
  readonly state: string
  readonly parent: number
  readonly group: number
  readonly session: number
}

/** All processes of the machine, from `/proc`. */
export function linuxProcesses(): LinuxProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const stat = readStat(pid)
      if (stat === undefined) return []
      // "pid (name) state ppid pgrp session …", where the name may contain spaces and brackets.
      const [state = '', parent, group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return {
        pid: Number(pid),
        state,
        parent: Number(parent),
        group: Number(group),
        session: Number(session),
      }
    })
}

/** `undefined` if the process has ended in the meantime. */
function readStat(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
}
