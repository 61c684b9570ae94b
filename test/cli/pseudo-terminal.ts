import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { onTestFinished } from 'vitest'
import { HOLDFAST } from './holdfast.ts'

/** `holdfast` on a terminal. The terminal comes from `script` of util-linux, which every Debian has. */
export class PseudoTerminal {
  output = ''
  readonly ended: Promise<number | null>
  readonly #script: ChildProcess

  constructor(args: string, env: Readonly<Record<string, string>> = {}, columns = 120) {
    if (spawnSync('script', ['--version']).error)
      throw new Error('the program script is missing: install util-linux (Debian: bsdutils)')
    const command = `stty cols ${columns} rows 30; ${HOLDFAST} ${args}`
    this.#script = spawn('script', ['--quiet', '--flush', '--return', '--command', command, '/dev/null'], {
      env: { ...process.env, TERM: 'xterm', NO_COLOR: '', ...env },
    })
    this.#script.stdout?.on('data', (text) => {
      this.output += text
    })
    this.ended = new Promise((resolve) => {
      this.#script.on('close', resolve)
    })
    onTestFinished(async () => {
      this.#script.kill('SIGKILL')
      await this.ended
    })
  }

  type(text: string): void {
    this.#script.stdin?.write(text)
  }
}
