import { readdirSync, readFileSync } from 'node:fs'

/**
 * Signals a process and all below it, by what Linux tells in `/proc`. Process groups would not do: every
 * Postgres backend leads its own.
 */
export function signalTree(pid: number, signal: NodeJS.Signals): void {
  // Whoever is killed leaves its children to another parent; whoever still runs may fork more.
  const before = childrenByParent()
  const visit = (id: number) => {
    send(id, signal)
    const children = signal === 'SIGSTOP' ? childrenByParent() : before
    for (const child of children.get(id) ?? []) visit(child)
  }
  visit(pid)
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended by itself.
  }
}

function childrenByParent(): Map<number, number[]> {
  const children = new Map<number, number[]>()
  for (const entry of readdirSync('/proc')) {
    const parent = /^\d+$/.test(entry) && parentOf(entry)
    if (parent) children.set(parent, [...(children.get(parent) ?? []), Number(entry)])
  }
  return children
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
