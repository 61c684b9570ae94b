/**
 * A separate process beside `holdfast run`, in case `run` itself is stopped or killed. It knows when the command must
 * be dead, and ends it then if `run` does not. When `run` dies, the pipe from it closes, and the watchdog ends the command
 * at once.
 */
import { createInterface } from 'node:readline'
import { systemClock } from '../../base/clock.ts'
import { pause } from '../../base/pause.ts'
import { WATCHDOG_CHECK_EVERY_MS, WATCHDOG_GRACE_FRACTION, WATCHDOG_SEARCH_LIMIT_MS } from '../options.ts'
import { Countdown } from './countdown.ts'
import { endSession, isAlive, leaderUnder } from './session.ts'
import { WATCHDOG_ENDED_COMMAND, type WatchdogMessage } from './watchdog-messages.ts'

// A signal to all processes of the user is meant for the command. The watchdog stays until `run` ends it.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

let leaseId = ''
let leader: number | undefined
let isNested = false
let hasEndedCommand = false
let countdown: Countdown | undefined

const messages = createInterface({ input: process.stdin })
messages.on('line', (line) => {
  const message = parse(line)
  if (message) handle(message)
})
messages.on('close', endOrphan)

/** `null`: the line was cut off, because `run` was killed while it wrote. That must not end the watchdog. */
function parse(line: string): WatchdogMessage | null {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

function handle(message: WatchdogMessage): void {
  switch (message.type) {
    case 'starting':
      leaseId = message.leaseId
      isNested = message.isNested
      countdown = new Countdown(message.graceMs * WATCHDOG_GRACE_FRACTION, (signal) => {
        if (leader && endSession(leader, signal)) hasEndedCommand = true
      })
      break
    case 'started':
      leader = message.leader
      break
    case 'extend':
      countdown?.extend(message.killAt)
      break
    case 'terminating':
      countdown?.markTerminating()
      break
    case 'done':
      process.exit(hasEndedCommand ? WATCHDOG_ENDED_COMMAND : 0)
  }
}

/** `run` has died. Ends the command; this process exits when nothing of the command is left. */
async function endOrphan(): Promise<void> {
  leader ??= await findLeader()
  if (isNested) countdown?.killNow()
  else countdown?.endNow()
  while (leader && isAlive(leader)) await pause(systemClock, WATCHDOG_CHECK_EVERY_MS)
  countdown?.cancel()
}

/** `run` was killed while it started the command, which may take a moment until it has its environment. */
async function findLeader(): Promise<number | undefined> {
  const end = performance.now() + WATCHDOG_SEARCH_LIMIT_MS
  while (countdown && performance.now() < end) {
    const found = leaderUnder(leaseId)
    if (found) return found
    await pause(systemClock, WATCHDOG_CHECK_EVERY_MS)
  }
  return undefined
}
