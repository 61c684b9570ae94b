/**
 * A command for `holdfast run`: prints its process id, and logs every few milliseconds that it is running, with its
 * token.
 * `tick <log> <name> <for ms> [stubborn|forks|leaves]`
 */
import { spawn } from 'node:child_process'
import { appendTo, now } from '../../src/testing/node/observation.ts'

const TICK_EVERY_MS = 5

const { HOLDFAST_TOKEN, HOLDFAST_RESOURCE } = process.env
const [log = '', name = '', forMs = '', behaviour = ''] = process.argv.slice(2)
const append = appendTo(log)
const tick = () =>
  append({ at: now(), worker: name, resource: HOLDFAST_RESOURCE ?? '', token: Number(HOLDFAST_TOKEN) })

console.log(process.pid)
tick()
setInterval(tick, TICK_EVERY_MS)
setTimeout(() => process.exit(), Number(forMs))
if (behaviour === 'stubborn') process.on('SIGTERM', () => {})
process.send?.('running')
if (behaviour === 'forks' || behaviour === 'leaves') {
  const child = [import.meta.filename, log, name, forMs, 'stubborn']
  const forked = spawn(process.execPath, child, { stdio: ['ignore', 'inherit', 'ignore', 'ipc'] })
  // The child has no parent then, like a daemon, but it is still in the process group.
  if (behaviour === 'leaves') forked.once('message', () => process.exit())
}
