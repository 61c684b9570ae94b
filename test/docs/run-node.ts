import { spawn } from 'node:child_process'
import { HANG_MS } from '../hang-limit.ts'
import type { PlacedBlock, Sandbox } from './sandbox.ts'

interface Ending {
  /** The exit code, or the signal that ended it. */
  readonly with: number | NodeJS.Signals
  readonly stdout: string
  readonly stderr: string
}

/** Runs a block in Node or in a shell, as its page says. Throws if it does not do what CONTRIBUTING.md promises. */
export async function runInNode(placed: PlacedBlock, sandbox: Sandbox): Promise<void> {
  const { role, language, code } = placed.block
  const stays = role === 'serve'
  const ending = await run(placed, await sandbox.environmentFor(placed), stays)
  // A program without a handler is ended by the signal.
  const stopped = stays && !code.includes('SIGTERM') && ending.with === 'SIGTERM'
  const quiet = language === 'sh' || role === 'test' || ending.stderr === ''
  if (quiet && (stopped || ending.with === 0)) return
  const fault = quiet ? '' : ', and nothing may be printed on stderr'
  throw new Error(`it ended with ${ending.with}${fault}\n${ending.stdout}${ending.stderr}`)
}

function commandFor({ block, file }: PlacedBlock): [program: string, ...args: string[]] {
  if (block.language === 'sh') return ['bash', '-e', file]
  if (block.role !== 'test') return ['node', file]
  return block.code.includes("'node:test'")
    ? ['node', '--test', file]
    : ['vitest', 'run', '--root', '.', file]
}

/** Resolves when the program has ended. One that stays is stopped when it has printed its first line. */
function run(placed: PlacedBlock, env: NodeJS.ProcessEnv, stays: boolean): Promise<Ending> {
  const [program, ...args] = commandFor(placed)
  // In a group of its own, so that what it has started ends with it.
  const child = spawn(program, args, {
    ...{ cwd: placed.directory, env, detached: true },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const kill = () => child.pid && killGroup(child.pid)
  return new Promise<Ending>((resolve, reject) => {
    const output = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text) => {
      if (stays && !output.stdout.includes('\n') && text.includes('\n')) child.kill('SIGTERM')
      output.stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      output.stderr += text
    })
    const limit = setTimeout(() => {
      reject(new Error(`it did not end\n${output.stdout}${output.stderr}`))
      kill()
    }, HANG_MS)
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      clearTimeout(limit)
      kill()
      child.once('close', () => resolve({ with: code ?? signal ?? 0, ...output }))
    })
  })
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All of its processes have ended.
  }
}
