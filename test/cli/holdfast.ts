import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { root } from '../../scripts/run-tool.ts'

export const MAIN = join(root, 'src/cli/main.ts')

/** Nothing that this machine or another test has set. */
const { PATH = '', HOME = '' } = process.env
const BARE = { PATH, HOME }

/** Words of a shell that stand for `holdfast`. */
export const HOLDFAST = `'${process.execPath}' '${MAIN}'`

export interface Surroundings {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** `holdfast` as a process, which ends with the test at the latest. */
export class Holdfast {
  stdout = ''
  stderr = ''
  readonly ended: Promise<Ended>
  readonly #process: ChildProcess

  constructor(args: readonly string[], { cwd, env, input }: Surroundings = {}) {
    this.#process = spawn(process.execPath, [MAIN, ...args], {
      cwd,
      env: { ...BARE, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
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

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }
}

export function holdfast(args: readonly string[], surroundings?: Surroundings): Promise<Ended> {
  return new Holdfast(args, surroundings).ended
}

/** A zombie is not running. */
export function isRunning(pid: number): boolean {
  return !['', 'Z'].includes(stateOf(pid))
}

/** As `ps` has it: `T` for a process that is stopped, `Z` for a zombie, nothing for one that is gone. */
export function stateOf(pid: number): string {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout.slice(0, 1)
}

export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  return directory
}
