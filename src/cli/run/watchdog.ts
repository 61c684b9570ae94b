import { spawn } from 'node:child_process'
import { extname, join } from 'node:path'
import { WATCHDOG_EXIT_LIMIT_MS } from '../options.ts'
import { WATCHDOG_ENDED_COMMAND, type WatchdogMessage } from './watchdog-messages.ts'

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
  // The package has this code in `commands`, beside this folder.
  const module = join(import.meta.dirname, `../run/watchdog-main${extname(import.meta.filename)}`)
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
