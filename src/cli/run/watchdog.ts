import { spawn } from 'node:child_process'
import { extname, join } from 'node:path'
import type { Moment } from '../../base/clock.ts'
import { WATCHDOG_EXIT_LIMIT_MS } from '../options.ts'

/** A message of `run` to its watchdog: one line of JSON. */
export type WatchdogMessage =
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
  /** The command has ended. The watchdog exits. */
  | { readonly type: 'done' }

/** The exit code of a watchdog that has ended the command. */
export const WATCHDOG_ENDED_COMMAND = 1

export interface Watchdog {
  send(message: WatchdogMessage): void
  /** Resolves with whether the watchdog has ended the command. */
  close(): Promise<boolean>
}

/**
 * Starts the watchdog process. Messages that are sent before it runs wait in the pipe. As long as `run` itself runs, it
 * ends the command in time without a watchdog, so the end of the watchdog is only reported.
 */
export function startWatchdog(onExit: () => void): Watchdog {
  const module = join(import.meta.dirname, `watchdog-main${extname(import.meta.filename)}`)
  // The user's options for Node, such as a debugger, are not for this process.
  const { NODE_OPTIONS: _, ...env } = process.env
  const watchdog = spawn(process.execPath, [module], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // A session of its own, so that Ctrl-C on the terminal does not reach it.
    detached: true,
    cwd: '/',
    env,
  })
  const send = (message: WatchdogMessage) => void watchdog.stdin.write(`${JSON.stringify(message)}\n`)
  watchdog.on('error', onExit)
  watchdog.on('exit', onExit)
  watchdog.stdin.on('error', () => {})
  return {
    send,
    close() {
      watchdog.off('exit', onExit)
      send({ type: 'done' })
      return new Promise((resolve) => {
        // It could not be started, or has exited already.
        if (watchdog.pid === undefined || watchdog.exitCode !== null)
          return resolve(watchdog.exitCode === WATCHDOG_ENDED_COMMAND)
        watchdog.once('exit', (code) => resolve(code === WATCHDOG_ENDED_COMMAND))
        setTimeout(() => resolve(false), WATCHDOG_EXIT_LIMIT_MS).unref()
      })
    },
  }
}
