/**
 * A command for `holdfast run`: prints its process id, and notes every few milliseconds that it is at work, with the
 * token that it was given.
 * `tick <log> <name> <for ms> [stubborn|forks|leaves]`
 */
import { spawn } from 'node:child_process'
import { appendTo, now } from '../processes/observation.ts'

const TICK_EVERY_MS = 5

const { HOLDFAST_TOKEN, HOLDFAST_RESOURCE } = process.env
const [log = '', name = '', forMs = '', manner = ''] = process.argv.slice(2)
const note = appendTo(log)
const tick = () =>
  note({ at: now(), worker: name, resource: HOLDFAST_RESOURCE ?? '', token: Number(HOLDFAST_TOKEN) })

console.log(process.pid)
tick()
setInterval(tick, TICK_EVERY_MS)
setTimeout(() => process.exit(), Number(forMs))
if (manner === 'stubborn') process.on('SIGTERM', () => {})
process.send?.('at work')
if (manner === 'forks' || manner === 'leaves') {
  const child = [import.meta.filename, log, name, forMs, 'stubborn']
  const forked = spawn(process.execPath, child, { stdio: ['ignore', 'inherit', 'ignore', 'ipc'] })
  // Its parent is gone then, as that of a daemon is, but it is still in the process group.
  if (manner === 'leaves') forked.once('message', () => process.exit())
}
