/** The messages that announce a write: their format, how they are sent, and how they are read. */
import { isObject } from '../base/arguments.ts'
import type { Clock } from '../base/clock.ts'
import { isId } from './json.ts'
import { type Messenger, request, TIMED_OUT } from './messenger.ts'
import type { Warn } from './warnings.ts'

export const SYNC_ACTIONS = {
  entityDelta: 'entityDelta',
  entityPatch: 'entityPatch',
  /** The answer to `entityDelta` and `entityPatch`. */
  ack: 'entityAck',
} as const

/**
 * Names the entities that changed, with their new values; `null` for a removed one. This library reads the values
 * from the storage instead; the values in the message are for other receivers.
 */
export interface EntityDelta {
  readonly action: typeof SYNC_ACTIONS.entityDelta
  /** Missing without a namespace. */
  readonly namespace?: string
  readonly revision?: number | undefined
  readonly delta: Readonly<Record<string, object | null>>
}

export interface EntityPatch {
  readonly action: typeof SYNC_ACTIONS.entityPatch
  readonly namespace?: string
  readonly revision?: number | undefined
  readonly ops: readonly { readonly op: 'remove'; readonly entityId: string }[]
}

export type SyncMessage = EntityDelta | EntityPatch

/** The message about a write: entities by id, `null` for a removed one. */
export function messageAbout(
  entries: readonly (readonly [id: string, entity: object | null])[],
  revision?: number,
): SyncMessage {
  if (entries.length > 1 && entries.every(([, entity]) => entity === null))
    return {
      action: SYNC_ACTIONS.entityPatch,
      revision,
      ops: entries.map(([entityId]) => ({ op: 'remove', entityId })),
    }
  return { action: SYNC_ACTIONS.entityDelta, revision, delta: Object.fromEntries(entries) }
}

export interface AnnounceOptions {
  readonly messenger: Messenger | undefined
  readonly namespace: string
  readonly clock: Clock
  readonly ackTimeoutMs: number
  readonly resend: number
  readonly warn: Warn
  readonly closing: AbortSignal
}

/** Announces a write that is in storage. The write is a success even if nobody receives the message. */
export function createAnnounce(options: AnnounceOptions): (message: SyncMessage) => void {
  const { messenger, namespace, clock, ackTimeoutMs, resend, warn, closing } = options
  return (message) => {
    if (messenger) void announce(messenger, { ...message, ...(namespace && { namespace }) })
  }

  async function announce(messenger: Messenger, message: SyncMessage): Promise<void> {
    for (let tries = 0; tries <= resend && !closing.aborted; tries++) {
      const answer = await request(messenger, message, { clock, timeoutMs: ackTimeoutMs, signal: closing })
      if (answer === undefined)
        return warn('no-receiver', 'no other context received a message about a write')
      if (answer !== TIMED_OUT) return
    }
    if (!closing.aborted)
      warn('no-ack', `no context acknowledged a message about a write within ${ackTimeoutMs} ms`)
  }
}

/** What a received message says: a hint about what to read. */
export interface Hint {
  /** By id: `null` for a removed entity. */
  readonly entries: readonly (readonly [id: string, entity: unknown])[]
  /** The revision of the index after the removal; `undefined` if the sender did not send one. */
  readonly revision: number | undefined
}

/** `undefined`: not our message. `null`: our action, but malformed. */
export function readMessage(message: unknown, namespace: string): Hint | null | undefined {
  const { action, namespace: sender = '', delta, ops, revision } = isObject(message) ? message : {}
  if (sender !== namespace) return undefined
  const isPatch = action === SYNC_ACTIONS.entityPatch
  if (!isPatch && action !== SYNC_ACTIONS.entityDelta) return undefined
  const entries =
    (isPatch ? Array.isArray(ops) && ops.map(removal) : isObject(delta) && Object.entries(delta)) || null
  if (!entries?.every(([id, entity]) => isId(id) && (entity === null || isObject(entity)))) return null
  return { entries, revision: typeof revision === 'number' ? revision : undefined }
}

function removal(value: unknown): [id: string, entity: null] {
  const { op, entityId } = Object(value)
  return [op === 'remove' && entityId, null]
}
