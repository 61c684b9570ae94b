import { readdirSync, readFileSync } from 'node:fs'

/**
 * Signals a process and all below it, parents first, by what Linux tells in `/proc`. Process groups would not do:
 * every Postgres backend leads its own.
 */
export function signalTree(root: number, signal: NodeJS.Signals): void {
  const reached = new Set<number>()
  for (;;) {
    const found = treeOf(root).filter((pid) => !reached.has(pid))
    for (const pid of found) {
      reached.add(pid)
      send(pid, signal)
    }
    // Those who had not been stopped yet may have forked; there is nobody new when all of them are.
    if (signal !== 'SIGSTOP' || found.length === 0) return
  }
}

function treeOf(root: number): number[] {
  const children = new Map<number, number[]>()
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const parent = parentOf(pid)
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(pid)])
  }
  const tree = [root]
  for (const pid of tree) tree.push(...(children.get(pid) ?? []))
  return tree
}

function parentOf(pid: string): number | undefined {
  try {
    // "pid (name) state ppid …", where the name may hold spaces and brackets.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended by itself.
  }
}
