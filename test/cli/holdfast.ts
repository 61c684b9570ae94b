import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { root } from '../../scripts/run-tool.ts'

export const MAIN = join(root, 'src/cli/main.ts')

/** No other variables of this machine or of another test. */
const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
const CLEAN_ENVIRONMENT = { PATH, HOME, NODE_COMPILE_CACHE }

/** Runs `holdfast` in a line of a shell script. */
export const HOLDFAST = `'${process.execPath}' '${MAIN}'`

export interface ProcessOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  /** A file that is its standard output. */
  readonly stdout?: number
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * `holdfast` as a process, which ends with the test at the latest. `stdout` and `stderr` are what has arrived so far:
 * wait for a line with `expect.poll`, or for the end with `ended`.
 */
export class Holdfast {
  stdout = ''
  stderr = ''
  readonly ended: Promise<Ended>
  readonly #process: ChildProcess

  constructor(args: readonly string[], { cwd, env, input, stdout = -1 }: ProcessOptions = {}) {
    this.#process = spawn(process.execPath, [MAIN, ...args], {
      cwd,
      env: { ...CLEAN_ENVIRONMENT, ...env },
      stdio: ['pipe', stdout < 0 ? 'pipe' : stdout, 'pipe'],
    })
    this.#process.stdin?.end(input)
    this.#process.stdout?.on('data', (text) => {
      this.stdout += text
    })
    this.#process.stderr?.on('data', (text) => {
      this.stderr += text
    })
    this.ended = new Promise((resolve) => {
      this.#process.on('close', (code) => resolve({ code, stdout: this.stdout, stderr: this.stderr }))
    })
    onTestFinished(async () => {
      this.#process.kill('SIGCONT')
      this.#process.kill('SIGKILL')
      await this.ended
    })
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  /** As when the reader of its pipe ends. */
  closeOutput(): void {
    this.#process.stdout?.destroy()
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }
}

export function holdfast(args: readonly string[], options?: ProcessOptions): Promise<Ended> {
  return new Holdfast(args, options).ended
}

/** A zombie is not running. */
export function isRunning(pid: number): boolean {
  return !['', 'Z'].includes(stateOf(pid))
}

/** The state that `ps` shows: `T` for a stopped process, `Z` for a zombie, empty if there is no such process. */
export function stateOf(pid: number): string {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout.slice(0, 1)
}

export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  return directory
}
