import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { root } from '../../../scripts/run-tool.ts'

/** Short, so that a lock whose page is gone is free after a few words. */
const SETTINGS = ['--ttl', '6s', '--heartbeat', '2s', '--grace', '2s']

/** `holdfast serve` in a process of its own, which can be stopped, killed and started again on the same file. */
export class ServedDocument implements AsyncDisposable {
  readonly #directory: string
  readonly #origin: string
  #child: ChildProcess | undefined
  port = 0

  constructor(directory: string, origin: string) {
    this.#directory = directory
    this.#origin = origin
  }

  async start(): Promise<void> {
    const store = `sqlite:${join(this.#directory, 'holdfast.db')}`
    const args = ['serve', '--store', store, '--port', '0', '--origins', this.#origin, ...SETTINGS]
    const child = spawn(process.execPath, [join(root, 'dist/cli/main.js'), ...args], {
      cwd: this.#directory,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child = child
    let output = ''
    this.port = await new Promise((resolve, reject) => {
      child.stderr?.on('data', (chunk) => {
        output += chunk
        const [, port] = /listening on http:\S+:(\d+)/.exec(output) ?? []
        if (port) resolve(Number(port))
      })
      child.once('exit', () => reject(new Error(`the server ended: ${output}`)))
    })
  }

  /** It stands still, and its connections stay open. */
  halt(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  get isRunning(): boolean {
    return this.#child !== undefined
  }

  /** What is saved. */
  async read(room: string): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${this.port}/api/documents/${room}`)
    const { content } = (await response.json()) as { readonly content: string | null }
    return content ?? ''
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}
