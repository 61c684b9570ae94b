/**
 * A process between a test run and one server. It starts the server. When the test run ends in any way, also by
 * `kill -9`, the channel to it breaks, and this process ends the server and removes its directory. It runs in its own
 * session, so that Ctrl-C on the terminal does not end it first.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command, KeeperMessage } from './kept-process.ts'
import { signalTree } from './process-tree.ts'

const END_LIMIT_MS = 5000

const directory = mkdtempSync(join(tmpdir(), `holdfast-${process.argv[2]}-`))
// A server that runs as another user must be able to reach its directory in this one.
chmodSync(directory, 0o711)

let current: ChildProcess | undefined
let endSignal: NodeJS.Signals = 'SIGKILL'

process.on('message', (command: Command) => {
  const { file, args, uid, gid, env } = command
  endSignal = command.crashSignal
  const log = openSync(join(directory, 'server.log'), 'a')
  const child = spawn(file, args, {
    cwd: directory,
    env: { ...process.env, ...env },
    detached: true,
    stdio: ['ignore', log, log],
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
  })
  closeSync(log)
  current = child
  child.once('spawn', () => send({ type: 'started', pid: child.pid ?? 0 }))
  child.once('error', (error) => send({ type: 'failed', reason: error.message }))
  child.once('exit', (code, signal) => {
    current = undefined
    send({ type: 'exited', with: signal ?? code ?? 0 })
  })
})
process.once('disconnect', end)
process.once('SIGTERM', end)
send({ type: 'ready', directory })

async function end(): Promise<void> {
  const server = current
  if (server?.pid !== undefined) {
    const exit = new Promise((resolve) => server.once('exit', resolve))
    signalTree(server.pid, 'SIGCONT')
    process.kill(server.pid, endSignal)
    const hasExited = await Promise.race([exit.then(() => true), sleep(END_LIMIT_MS, false)])
    if (!hasExited) signalTree(server.pid, 'SIGKILL')
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
  process.exit()
}

function send(message: KeeperMessage): void {
  if (process.connected) process.send?.(message)
}
