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
      const stat = read(pid, 'stat')
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

/** The variables with which the process was started, as `NAME=value`. Empty for a process of another user. */
export function environmentOf(pid: number): string[] {
  return read(String(pid), 'environ')?.split('\0') ?? []
}

/** `undefined` if the process has ended in the meantime, or the file is not for this user. */
function read(pid: string, file: 'stat' | 'environ'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined
  }
}
