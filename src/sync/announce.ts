/** Tells other contexts of a write that is in storage. The write is a success even if nobody receives the message. */
import type { Clock } from '../base/clock.ts'
import type { SyncMessage } from './messages.ts'
import type { Messenger } from './messenger.ts'
import type { Warn } from './warnings.ts'

export interface AnnounceOptions {
  readonly messenger: Messenger | undefined
  readonly namespace: string
  readonly clock: Clock
  readonly ackTimeoutMs: number
  readonly resend: number
  readonly warn: Warn
  readonly closing: AbortSignal
}

/** Entities by id; `null` for a removed one. */
export type Announced = readonly (readonly [id: string, entity: object | null])[]

/** `revision`: of the index, after a removal. */
export type Announce = (entries: Announced, revision?: number) => void

export function createAnnounce(options: AnnounceOptions): Announce {
  const { messenger, namespace, ackTimeoutMs, resend, warn, closing } = options
  return (entries, revision) => {
    if (!messenger || entries.length === 0) return
    void announce(messenger, { ...messageAbout(entries, revision), ...(namespace && { namespace }) })
  }

  async function announce(messenger: Messenger, message: SyncMessage): Promise<void> {
    for (let tries = 0; tries <= resend && !closing.aborted; tries++) {
      const answer = await request(messenger, message, options)
      if (answer === undefined)
        return warn('no-receiver', 'no other context received a message about a write')
      if (answer !== TIMED_OUT) return
    }
    if (!closing.aborted)
      warn('no-ack', `no context acknowledged a message about a write within ${ackTimeoutMs} ms`)
  }
}

function messageAbout(entries: Announced, revision: number | undefined): SyncMessage {
  if (entries.length > 1 && entries.every(([, entity]) => entity === null))
    return {
      action: 'entityPatch',
      revision,
      ops: entries.map(([entityId]) => ({ op: 'remove', entityId })),
    }
  return { action: 'entityDelta', revision, delta: Object.fromEntries(entries) }
}

export const TIMED_OUT = Symbol('timed out')

/**
 * The answer to a message, `undefined` if there is no receiver, or `TIMED_OUT`, also after an abort. It never rejects
 * and never hangs.
 */
export async function request(
  messenger: Messenger,
  message: unknown,
  { clock, ackTimeoutMs, closing }: Pick<AnnounceOptions, 'clock' | 'ackTimeoutMs' | 'closing'>,
): Promise<unknown> {
  if (closing.aborted) return TIMED_OUT
  const limit = new AbortController()
  const stop = () => limit.abort()
  const timedOut = new Promise((resolve) => limit.signal.addEventListener('abort', () => resolve(TIMED_OUT)))
  const cancel = clock.setTimer(stop, ackTimeoutMs)
  closing.addEventListener('abort', stop)
  try {
    return await Promise.race([messenger.send(message, limit.signal), timedOut])
  } catch {
    return undefined
  } finally {
    cancel()
    closing.removeEventListener('abort', stop)
    stop()
  }
}
