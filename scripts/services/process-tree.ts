import { readFileSync } from 'node:fs'
import { linuxProcesses } from '../../src/cli/run/linux-processes.ts'

/** Linux counts the time of processes in hundredths. */
const TICKS_PER_SECOND = 100

/**
 * Signals a process and all its descendants, parents first. A signal to the process group would not reach the backends
 * of Postgres, because each leads its own group.
 */
export function signalTree(root: number, signal: NodeJS.Signals): void {
  const reached = new Set<number>()
  for (;;) {
    const found = treeOf(root).filter((pid) => !reached.has(pid))
    for (const pid of found) {
      reached.add(pid)
      send(pid, signal)
    }
    // A process may have forked before it was stopped. When a search finds no new process, all of them are stopped.
    if (signal !== 'SIGSTOP' || found.length === 0) return
  }
}

/** The ids of a process and all its descendants, parents first. */
export function treeOf(root: number): number[] {
  const children = Map.groupBy(linuxProcesses(), ({ parent }) => parent)
  const tree = [root]
  for (const pid of tree) tree.push(...(children.get(pid) ?? []).map((child) => child.pid))
  return tree
}

/** The processor time of a process and its descendants, also of those that have ended. */
export function cpuSecondsOf(root: number): number {
  const ticks = treeOf(root).map((pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // After the name in brackets: the state, and then user and system time of the process and of its children.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  })
  return ticks.reduce((sum, each) => sum + each, 0) / TICKS_PER_SECOND
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has already ended.
  }
}
