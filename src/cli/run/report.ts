import { messageOf } from '../../base/errors.ts'
import type { LeaseEvent } from '../../core/index.ts'
import type { Invocation } from '../command.ts'
import { timeLeft } from '../describe-lease.ts'
import { formatDuration } from '../format-duration.ts'
import { printable } from '../terminal.ts'
import type { EndSignal } from './countdown.ts'

const UNANSWERED = 'the store did not answer in time'

/** Prints on standard error what happens to the lease. Standard output is the command's. */
export interface Report {
  event(event: LeaseEvent): void
  /** The store cannot be reached, and is tried again until the wait is over. */
  unreached(failure: Error): void
  /** The command was sent this signal, because its lease ends. */
  ending(signal: EndSignal, graceMs: number): void
  unguarded(): void
  /** The default store did not exist. */
  created(address: string): void
  unreleased(error: unknown): void
  /** The job was done before, or another caller has done it meanwhile. */
  skipped(id: string): void
}

export function createReport({ settings, terminal }: Pick<Invocation, 'settings' | 'terminal'>): Report {
  const isQuiet = settings.is('quiet')
  let isOutageReported = false
  let reason = UNANSWERED
  const print = (type: string, text: string, details: object = {}) =>
    terminal.remark(text, { type, ...details })

  return {
    event(event) {
      const { resource } = event
      const name = printable(resource)
      switch (event.type) {
        case 'waiting': {
          if (isQuiet) return
          const { holder, holders, keptFor } = event
          return print('waiting', `waiting for ${name}: ${whyWaiting(event)}`, {
            resource,
            holder: holder?.owner ?? null,
            holders: holders.map(({ owner }) => owner),
            ...(keptFor !== undefined && { keptForMs: Math.round(keptFor) }),
          })
        }
        case 'acquired': {
          const { token, waited, attempts } = event
          if (isQuiet || (attempts === 1 && !settings.is('json'))) return
          return print('acquired', `acquired ${name} after ${formatDuration(waited)}`, { resource, token })
        }
        case 'error': {
          const { operation, error } = event
          if (operation === 'renew') reason = error.message
          if (operation !== 'acquire' || !error.retryable || isOutageReported || isQuiet) return
          isOutageReported = true
          const text = `${error.message}; retrying until the wait is over, holdfast doctor says more`
          return print('unavailable', text, { resource })
        }
        case 'renewed':
          reason = UNANSWERED
          return
        case 'lost': {
          const { token, error } = event
          if (event.reason === 'refused' || event.reason === 'ended')
            reason = 'another caller ended it, or it expired'
          // Its deadline passed, and no renewal was under way or had failed.
          else if (error.cause === undefined) reason = 'this process was stopped for longer than its lease'
          const details = { resource, token, reason: event.reason }
          return print('lost', `the lease of ${name} was lost: ${reason}`, details)
        }
      }
    },
    unreached({ message }) {
      if (!isQuiet) print('unavailable', `${message}; trying again`)
    },
    ending(signal, graceMs) {
      const text =
        signal === 'SIGTERM'
          ? `the lease cannot be renewed (${reason}): sent SIGTERM to the command, SIGKILL follows within ${formatDuration(graceMs)}`
          : 'killed the command'
      print('ending', text, { signal })
    },
    unguarded() {
      print(
        'unguarded',
        'the watchdog process has ended; if holdfast is killed now, its command keeps running',
      )
    },
    created(address) {
      print('created', `created ${address}, the default store; --store or HOLDFAST_STORE names another`)
    },
    unreleased(error) {
      print('unreleased', `the lease could not be released, and will expire: ${messageOf(error)}`)
    },
    skipped(id) {
      if (!isQuiet) print('skipped', `skipped: ${printable(id)} is done`, { resource: id })
    },
  }
}

function whyWaiting({ reason, holder, holders, keptFor }: LeaseEvent & { readonly type: 'waiting' }): string {
  if (reason === 'store-busy') return 'the store is busy'
  if (holder) {
    const others = holders.length > 1 ? ` and ${holders.length - 1} more` : ''
    return `held by ${printable(holder.owner)}${others}, ${timeLeft(holder)} left`
  }
  return keptFor === undefined
    ? 'reserved for an earlier waiter'
    : `not available for another ${formatDuration(keptFor)}, because its last lease keeps it`
}
