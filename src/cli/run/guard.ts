import { spawn } from 'node:child_process'
import { extname, join } from 'node:path'
import type { GuardMessage } from './guard-messages.ts'

export interface Guard {
  tell(message: GuardMessage): void
  /** Lets it go. */
  dismiss(): void
}

/**
 * Starts the guard; what it is told before it is up waits in the pipe. Without it `run` still ends the command in
 * time by itself, as long as it runs, so its loss is only told.
 */
export function startGuard(onLost: () => void): Guard {
  const module = join(import.meta.dirname, `guard-main${extname(import.meta.filename)}`)
  // Options for Node are meant for others.
  const { NODE_OPTIONS: _, ...env } = process.env
  const guard = spawn(process.execPath, [module], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // In a session of its own, out of reach of the terminal.
    detached: true,
    cwd: '/',
    env,
  })
  const tell = (message: GuardMessage) => void guard.stdin.write(`${JSON.stringify(message)}\n`)
  guard.on('error', onLost)
  guard.on('exit', onLost)
  guard.stdin.on('error', () => {})
  return {
    tell,
    dismiss() {
      guard.off('exit', onLost)
      tell({ type: 'done' })
    },
  }
}
