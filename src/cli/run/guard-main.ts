/**
 * A process of its own beside `holdfast run`, for the case that `run` itself is stopped or killed: it knows when
 * the command must be dead, and sees to that if `run` does not. When `run` dies, its end of the pipe closes, and the
 * command is asked to stop at once.
 */
import { createInterface } from 'node:readline'
import { Countdown } from './countdown.ts'
import type { GuardMessage } from './guard-messages.ts'
import { endSession, isAlive } from './session.ts'

/** `run` goes first: a command that gets SIGTERM twice may take the second for impatience. */
const SHARE_OF_GRACE = 0.8
const LOOK_EVERY_MS = 50

// What is sent to everybody is for the command; the guard stays until `run` lets it go.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

let leader = 0
let isNested = false
let countdown: Countdown | undefined

const messages = createInterface({ input: process.stdin })
messages.on('line', (line) => obey(JSON.parse(line)))
messages.on('close', onOrphaned)

function obey(message: GuardMessage): void {
  switch (message.type) {
    case 'guard':
      leader = message.leader
      isNested = message.isNested
      countdown = new Countdown(message.graceMs * SHARE_OF_GRACE, (signal) => endSession(leader, signal))
      break
    case 'extend':
      countdown?.extend(message.killAt)
      break
    case 'asked':
      countdown?.asked()
      break
    case 'done':
      process.exit()
  }
}

function onOrphaned(): void {
  if (isNested) countdown?.killNow()
  else countdown?.endNow()
  const looking = setInterval(() => {
    if (countdown && isAlive(leader)) return
    clearInterval(looking)
    countdown?.cancel()
  }, LOOK_EVERY_MS)
}
