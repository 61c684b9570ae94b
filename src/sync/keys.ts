/** Where the state lies in storage. */
export const STORAGE_KEYS = {
  settings: 'syncSettings',
  /** Option B: which entities there are, the only truth. */
  index: 'trackedEntities:index',
  /** Option B: before the id of each entity. */
  entityPrefix: 'trackedEntity:',
  /** Option A: all entities in one key. */
  all: 'trackedEntities',
  /** The revision of the index, and the format of what is stored. */
  meta: 'trackedEntities:meta',
} as const

export const SYNC_ACTIONS = {
  entityDelta: 'entityDelta',
  entityPatch: 'entityPatch',
  /** A write that the coordinator carries out for a context without locks of its own. */
  entityWrite: 'entityWrite',
  /** The answer to `entityDelta` and `entityPatch`. */
  ack: 'entityAck',
} as const

/** The lock under which the index is changed. */
export const LOCK_NAME = 'holdfast:trackedEntities'
