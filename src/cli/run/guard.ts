import { spawn } from 'node:child_process'
import { extname, join } from 'node:path'
import type { Moment } from '../../base/clock.ts'
import { GUARD_EXIT_LIMIT_MS } from '../options.ts'

/** A message of `run` to its guard: one line of JSON. */
export type GuardMessage =
  /** Sent before the command is started, because `run` may be killed before it can say which process it is. */
  | {
      readonly type: 'starting'
      /** In the environment of the command. */
      readonly leaseId: string
      readonly graceMs: number
      /** `run` is itself the command of another `run`. When the outer one kills it, no time for a grace is left. */
      readonly isNested: boolean
    }
  /** The process id of the command, which leads its session. */
  | { readonly type: 'started'; readonly leader: number }
  | { readonly type: 'extend'; readonly killAt: Moment }
  /** `run` has sent SIGTERM to the command, because the lease cannot be renewed. */
  | { readonly type: 'terminating' }
  /** The command has ended. The guard exits. */
  | { readonly type: 'done' }

/** The exit code of a guard that has ended the command. */
export const GUARD_ENDED_COMMAND = 1

export interface Guard {
  send(message: GuardMessage): void
  /** Resolves with whether the guard has ended the command. */
  close(): Promise<boolean>
}

/**
 * Starts the guard process. Messages that are sent before it runs wait in the pipe. As long as `run` itself runs, it
 * ends the command in time without a guard, so the end of the guard is only reported.
 */
export function startGuard(onExit: () => void): Guard {
  const module = join(import.meta.dirname, `guard-main${extname(import.meta.filename)}`)
  // The user's options for Node, such as a debugger, are not for this process.
  const { NODE_OPTIONS: _, ...env } = process.env
  const guard = spawn(process.execPath, [module], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // A session of its own, so that Ctrl-C on the terminal does not reach it.
    detached: true,
    cwd: '/',
    env,
  })
  const send = (message: GuardMessage) => void guard.stdin.write(`${JSON.stringify(message)}\n`)
  guard.on('error', onExit)
  guard.on('exit', onExit)
  guard.stdin.on('error', () => {})
  return {
    send,
    close() {
      guard.off('exit', onExit)
      send({ type: 'done' })
      return new Promise((resolve) => {
        // It could not be started, or has exited already.
        if (guard.pid === undefined || guard.exitCode !== null)
          return resolve(guard.exitCode === GUARD_ENDED_COMMAND)
        guard.once('exit', (code) => resolve(code === GUARD_ENDED_COMMAND))
        setTimeout(() => resolve(false), GUARD_EXIT_LIMIT_MS).unref()
      })
    },
  }
}
