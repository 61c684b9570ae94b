import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface BenchNode extends Disposable {
  readonly port: number
  /** Of the empty route. */
  readonly bare: number
  usage(): Promise<{ readonly rss: number; readonly cpu: NodeJS.CpuUsage }>
}

export async function startNode(synchronous: 'normal' | 'full' = 'full'): Promise<BenchNode> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  const script = join(import.meta.dirname, 'node.ts')
  const child: ChildProcess = fork(script, [join(directory, 'holdfast.db'), synchronous])
  const [{ port, bare }] = await once(child, 'message')
  return {
    port,
    bare,
    async usage() {
      child.send('usage')
      const [usage] = await once(child, 'message')
      return usage
    },
    [Symbol.dispose]() {
      child.kill('SIGKILL')
      rmSync(directory, { recursive: true })
    },
  }
}

/** A session of its own, as its cookie. */
export async function newSession(port: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/api/documents/none/lock`)
  await response.text()
  return response.headers.get('set-cookie')?.split(';')[0] ?? ''
}
