import type { LeaseEvent } from '../../core/index.ts'
import type { Call } from '../command.ts'
import { timeLeft } from '../describe-lease.ts'
import { formatDuration } from '../duration.ts'
import { printable } from '../terminal.ts'

/** What `run` says of its lease on standard error; standard output is the command's. */
export interface Report {
  /** An event of the lease. */
  event(event: LeaseEvent): void
  /** The command is sent a signal since its lease cannot be kept. */
  ending(signal: 'SIGTERM' | 'SIGKILL', graceMs: number): void
  unguarded(): void
  unreleased(error: Error): void
}

export function reporter({ settings, terminal }: Pick<Call, 'settings' | 'terminal'>): Report {
  const isQuiet = settings.is('quiet')
  let isTold = false
  let trouble = 'the store did not answer in time'
  const say = (type: string, text: string, details: object = {}) =>
    terminal.remark(text, { type, ...details })

  return {
    event(event) {
      const { resource } = event
      const name = printable(resource)
      switch (event.type) {
        case 'waiting': {
          if (isQuiet) return
          const { holder } = event
          const by = holder
            ? `held by ${printable(holder.owner)}, ${timeLeft(holder)} left`
            : 'others are first'
          return say('waiting', `waiting for ${name}: ${by}`, {
            resource,
            holder: holder?.owner ?? null,
          })
        }
        case 'acquired': {
          const { token, waited, attempts } = event
          if (isQuiet || (attempts === 1 && !settings.is('json'))) return
          return say('acquired', `got ${name} after ${formatDuration(waited)}`, { resource, token })
        }
        case 'error': {
          const { operation, error } = event
          if (operation === 'renew') trouble = error.message
          if (operation !== 'acquire' || !error.retryable || isTold || isQuiet) return
          isTold = true
          return say('unavailable', `${error.message}; trying again`, { resource })
        }
        case 'lost': {
          const { reason, token } = event
          if (reason === 'refused' || reason === 'ended') trouble = 'another ended it, or it ran out'
          return say('lost', `the lease of ${name} was lost: ${trouble}`, { resource, token, reason })
        }
      }
    },
    ending(signal, graceMs) {
      const text =
        signal === 'SIGTERM'
          ? `the lease cannot be renewed (${trouble}): sent SIGTERM to the command, SIGKILL follows within ${formatDuration(graceMs)}`
          : 'killed the command'
      say('ending', text, { signal })
    },
    unguarded() {
      say('unguarded', 'the guard process has ended; if holdfast is killed now, its command goes on')
    },
    unreleased(error) {
      say('unreleased', `the lease could not be released and ends by itself: ${error.message}`)
    },
  }
}
