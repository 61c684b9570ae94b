/** The messages that announce a write. */
import { isObject } from '../base/arguments.ts'

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

export interface EntityAck {
  readonly action: typeof SYNC_ACTIONS.ack
}

export type SyncMessage = EntityDelta | EntityPatch

/** Whether it has one of our action names. The rest is checked by the code that acts on it. */
export function isSyncMessage(message: unknown, namespace: string): boolean {
  const { action, namespace: sender = '' }: ReceivedMessage = isObject(message) ? message : {}
  return sender === namespace && (action === 'entityDelta' || action === 'entityPatch')
}

/** A message of which nothing is checked. */
export type ReceivedMessage = { readonly [Name in keyof EntityDelta | keyof EntityPatch]?: unknown } & {
  // With its type, the code needs no constants, which would have to be loaded.
  readonly action?: SyncMessage['action']
}
