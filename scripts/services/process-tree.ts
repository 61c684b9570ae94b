import { linuxProcesses } from '../../src/cli/run/linux-processes.ts'

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

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has already ended.
  }
}
