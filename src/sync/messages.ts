import { isId, isObject } from './json.ts'
import { SYNC_ACTIONS } from './keys.ts'

/** Says which entities changed; `null` for one that was removed. Values are for others to see: receivers of ours read the storage. */
export interface EntityDelta {
  readonly action: typeof SYNC_ACTIONS.entityDelta
  readonly revision?: number
  readonly delta: Readonly<Record<string, object | null>>
}

export interface EntityPatch {
  readonly action: typeof SYNC_ACTIONS.entityPatch
  readonly revision?: number
  readonly ops: readonly { readonly op: 'remove'; readonly entityId: string }[]
}

export type SyncMessage = EntityDelta | EntityPatch

/** What a message is about. */
export interface Hint {
  readonly changed: readonly string[]
  readonly removed: readonly string[]
  /** Of the index after the removal; `undefined` when the sender has none. */
  readonly revision: number | undefined
}

export function deltaMessage(
  entries: readonly (readonly [id: string, entity: object | null])[],
  revision?: number,
): EntityDelta {
  return {
    action: SYNC_ACTIONS.entityDelta,
    ...(revision !== undefined && { revision }),
    delta: Object.fromEntries(entries),
  }
}

export function patchMessage(removed: readonly string[], revision: number): EntityPatch {
  return {
    action: SYNC_ACTIONS.entityPatch,
    revision,
    ops: removed.map((entityId) => ({ op: 'remove', entityId })),
  }
}

/** `undefined` for what is none of ours, `null` for what says that it is and is not. */
export function readMessage(message: unknown): Hint | null | undefined {
  if (!isObject(message)) return undefined
  const { action, delta, ops, revision: stated } = message
  const revision = typeof stated === 'number' ? stated : undefined
  if (action === SYNC_ACTIONS.entityDelta) {
    if (!isObject(delta)) return null
    const entries = Object.entries(delta)
    if (!entries.every(([id, value]) => id && (value === null || isObject(value)))) return null
    const ids = (removed: boolean) =>
      entries.filter((entry) => (entry[1] === null) === removed).map(([id]) => id)
    return { changed: ids(false), removed: ids(true), revision }
  }
  if (action === SYNC_ACTIONS.entityPatch) {
    if (!Array.isArray(ops) || !ops.every(isRemoval)) return null
    return { changed: [], removed: ops.map(({ entityId }) => entityId), revision }
  }
  return undefined
}

function isRemoval(value: unknown): value is EntityPatch['ops'][number] {
  if (!isObject(value)) return false
  const { op, entityId } = value
  return op === 'remove' && isId(entityId)
}
