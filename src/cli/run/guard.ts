import { spawn } from 'node:child_process'
import { extname, join } from 'node:path'
import type { GuardMessage } from './guard-messages.ts'

export interface Guard {
  tell(message: GuardMessage): void
}

/** Starts the guard; what it is told before it is up waits in the pipe. */
export function startGuard(): Guard {
  const module = join(import.meta.dirname, `guard-main${extname(import.meta.filename)}`)
  const guard = spawn(process.execPath, [module], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // In a session of its own, with nothing of ours: no terminal, no directory, no options for Node.
    detached: true,
    cwd: '/',
    env: {},
  })
  // Without a guard `run` still ends the command in time by itself.
  guard.on('error', () => {})
  guard.stdin.on('error', () => {})
  guard.unref()
  return { tell: (message) => void guard.stdin.write(`${JSON.stringify(message)}\n`) }
}
