import type { Clock } from '../core/index.ts'
import type { SyncMessage } from './messages.ts'
import type { Messenger } from './messenger.ts'
import { ask, TIMED_OUT } from './patience.ts'
import type { Warn } from './warnings.ts'

export interface AnnounceOptions {
  readonly messenger: Messenger | undefined
  readonly clock: Clock
  readonly ackTimeout: number
  readonly resend: number
  readonly warn: Warn
  readonly closing: AbortSignal
}

/** Tells the others of a write that is in storage. It is a success whoever hears of it. */
export function createAnnounce(options: AnnounceOptions): (message: SyncMessage) => void {
  const { messenger, clock, ackTimeout, resend, warn, closing } = options
  return (message) => {
    if (messenger) void announce(messenger, message)
  }

  async function announce(messenger: Messenger, message: SyncMessage): Promise<void> {
    for (let tries = 0; tries <= resend && !closing.aborted; tries++) {
      const answer = await ask(messenger, message, { clock, ms: ackTimeout, signal: closing })
      if (answer === undefined) return warn('no-receiver', 'nobody was there to hear of a write')
      if (answer !== TIMED_OUT) return
    }
    if (!closing.aborted) warn('no-ack', `nobody answered within ${ackTimeout} ms`)
  }
}
