import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { eventually } from '../eventually.ts'
import { HANG_MS } from '../hang-limit.ts'

/** Less than Vitest allows a test, so that the failure shows what the program has printed. */
const LIMIT_MS = 4 * HANG_MS

/** A program of a reader. It has a process group of its own, so that what it has started ends with it. */
export class Program {
  stdout = ''
  stderr = ''
  /** Resolves with the exit code, or with the signal that ended it. Rejects if it does not end. */
  readonly ended: Promise<number | NodeJS.Signals>
  readonly #child: ChildProcess
  #running = true

  constructor(directory: string, env: NodeJS.ProcessEnv, program: string, ...args: string[]) {
    const child = spawn(program, args, {
      ...{ cwd: directory, env, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    child.stdout.setEncoding('utf8').on('data', (text) => {
      this.stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      this.stderr += text
    })
    this.ended = this.#end()
    // A caller that awaits something else first still gets the rejection later.
    this.ended.catch(() => {})
  }

  /** Resolves when the check is true. Rejects if the program ends before. */
  async until(check: () => boolean): Promise<void> {
    const stillOpen = await eventually(() => {
      if (this.#running && !check()) throw new Error(this.#report('it is not up'))
      return this.#running
    })
    if (!stillOpen) throw new Error(this.#report(`it ended with ${await this.ended}`))
  }

  stop(): void {
    this.#child.kill('SIGTERM')
  }

  async kill(): Promise<void> {
    this.#killGroup()
    await this.ended
  }

  async #end(): Promise<number | NodeJS.Signals> {
    let hangs = false
    const limit = setTimeout(() => {
      hangs = true
      this.#killGroup()
    }, LIMIT_MS)
    const closed = once(this.#child, 'close')
    const [code, signal] = await once(this.#child, 'exit')
    clearTimeout(limit)
    this.#running = false
    this.#killGroup()
    await closed
    if (hangs) throw new Error(this.#report('it did not end'))
    return code ?? signal
  }

  #report(what: string): string {
    return `${what}\n${this.stdout}${this.stderr}`
  }

  #killGroup(): void {
    try {
      if (this.#child.pid) process.kill(-this.#child.pid, 'SIGKILL')
    } catch {
      // All of its processes have ended.
    }
  }
}
