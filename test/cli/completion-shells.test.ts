import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { executable, obtain, run, type Tool } from '../../scripts/services/tools.ts'
import { HOLDFAST, Holdfast, temporaryDirectory } from './holdfast.ts'

const SHELLS: readonly Tool<string>[] = ['bash', 'zsh', 'fish'].map((name) => ({
  name,
  packages: [name],
  advice: `install ${name}.`,
  find: async () => executable(name),
}))
beforeAll(async () => void (await obtain(SHELLS)))

/** A directory with a space, the store in it, and `holdfast` on the PATH. Two resources are held. */
async function prepare() {
  const directory = join(temporaryDirectory(), 'a b')
  mkdirSync(directory)
  const store = `sqlite:${join(directory, 'holdfast.db')}`
  for (const resource of ['backup-of-db', 'report of May']) {
    const command = ['sh', '-c', 'echo here; exec sleep 600']
    const holder = new Holdfast(['run', '--ttl', '1h', '--store', store, resource, '--', ...command])
    await expect.poll(() => holder.stdout).toBe('here\n')
  }
  const program = join(directory, 'holdfast')
  writeFileSync(program, `#!/bin/sh\nexec ${HOLDFAST} "$@"\n`)
  chmodSync(program, 0o755)
  const { PATH = '' } = process.env
  return {
    directory,
    store,
    env: { ...process.env, PATH: `${directory}:${PATH}`, HOME: directory, TERM: 'xterm' },
  }
}

describe('completion in a real fish', () => {
  it('completion in a real fish offers commands, options and the resources of the store, also of a quoted one in the line', async () => {
    const { store, env } = await prepare()
    const expected = {
      'holdfast re': 'release',
      'holdfast ls --st': '--store',
      'holdfast inspect ba': 'backup-of-db',
      'holdfast inspect rep': 'report of May',
      [`holdfast inspect --store "${store}" ba`]: 'backup-of-db',
      [`holdfast inspect -s '${store}' ba`]: 'backup-of-db',
      [`holdfast inspect "--store=${store}" ba`]: 'backup-of-db',
    }
    const lines = Object.keys(expected)
    // Only lines that do not name the store need the setting.
    const script = `holdfast completion fish | source
      for line in $argv
        if string match -q '*sqlite*' -- $line
          set -e HOLDFAST_STORE
        end
        complete -C $line | cut -f 1
        echo END
      end`
    const { stdout } = await run('fish', ['--no-config', '-c', script, ...lines], {
      env: { ...env, HOLDFAST_STORE: store },
    })
    const offered = stdout.split('END\n').map((each) => each.trim())
    expect(Object.fromEntries(lines.map((line, n) => [line, offered[n]]))).toEqual(expected)
  })
})

describe.each([
  ['bash', 'bash --norc --noprofile -i', 'eval "$(holdfast completion bash)"'],
  ['zsh', 'zsh -f -i', 'autoload -Uz compinit; compinit -u -D; eval "$(holdfast completion zsh)"'],
])('completion in a real %s', (_, shell, setUp) => {
  it('completes a command and a resource when Tab is pressed', async () => {
    const { store, env } = await prepare()
    const terminal = new ShellTerminal(shell, { ...env, HOLDFAST_STORE: store, PS1: '> ' })
    terminal.type(`${setUp}; echo READY-$((40 + 2))\n`)
    await expect.poll(() => terminal.output).toContain('READY-42')
    terminal.type('holdfast insp\tba\t')
    await expect.poll(() => terminal.output).toContain('holdfast inspect backup-of-db')
    terminal.type('\x15holdfast inspect rep\t')
    await expect.poll(() => terminal.output).toContain('holdfast inspect report\\ of\\ May')
    terminal.type('\x15exit\n')
    await terminal.ended
  })
})

/** A shell on a terminal. */
class ShellTerminal {
  #written = ''
  readonly ended: Promise<unknown>
  readonly #script: ChildProcess

  constructor(command: string, env: NodeJS.ProcessEnv) {
    this.#script = spawn('script', ['--quiet', '--flush', '--command', command, '/dev/null'], { env })
    this.#script.stdout?.on('data', (text) => {
      this.#written += text
    })
    this.ended = new Promise((resolve) => {
      this.#script.on('close', resolve)
    })
    onTestFinished(async () => {
      this.#script.kill('SIGKILL')
      await this.ended
    })
  }

  /** Without what moves the cursor. zsh goes back over characters that it draws again. */
  get output(): string {
    return stripVTControlCharacters(this.#written).replace(/.[\b]/g, '')
  }

  type(text: string): void {
    this.#script.stdin?.write(text)
  }
}
