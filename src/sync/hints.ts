/**
 * Messages about writes. Each is a hint, which may be late, doubled or false: it only says what to read. Those that
 * arrive before the bootstrap has ended wait for it, as all reads do.
 */
import type { EntityAck, ReceivedMessage } from './messages.ts'
import type { WriterTools } from './writer-tools.ts'
import type { SyncContext } from './writing.ts'

/** What a message says. */
interface Hint {
  /** By id: `null` for a removed entity. */
  readonly entries: readonly (readonly [id: string, entity: unknown])[]
  /** The revision of the index after the removal; `undefined` if the sender did not send one. */
  readonly revision: number | undefined
}

/** Follows a message, and returns the answer to it. */
export function hearing<E extends object, S extends object>(
  tools: WriterTools,
  context: SyncContext<E, S>,
): (message: unknown) => EntityAck | undefined {
  const { layout, view, reader, append, warn, tracked } = context
  return (message) => {
    const hint = readHint(tools, message)
    if (hint) void follow(hint)
    else warn('malformed-message', 'a malformed message was ignored', message)
    return answerTo(hint)
  }

  async function follow({ entries, revision }: Hint): Promise<void> {
    const removed = entries.filter(([, entity]) => !entity).map(([id]) => id)
    const entityKeys = reader.keysOf(entries.map(([id]) => id))
    await reader.read(removed.length > 0 ? [...entityKeys, ...layout.indexKeys] : entityKeys)
    // A foreign sender leaves it to the receivers to remove ids from the index.
    const left = removed.filter((id) => view.indexes(id) && view.get(id))
    const seenAt = revision ?? view.revision
    if (left.length === 0 || seenAt < view.revision) return
    const removal = { delta: left.map((id) => [id, null] as const), seenAt }
    tracked(() => append.write(removal)).catch((error) =>
      warn('remove-failed', `could not remove ${left.join(', ')} from the index`, error),
    )
  }
}

/** `null`: it is malformed. */
export function readHint({ isId, isObject }: WriterTools, message: unknown): Hint | null {
  const { action, delta, ops, revision } = message as ReceivedMessage
  const entries =
    (action === 'entityPatch'
      ? Array.isArray(ops) && ops.map(removal)
      : isObject(delta) && Object.entries(delta)) || null
  if (!entries?.every(([id, entity]) => isId(id) && (entity === null || isObject(entity)))) return null
  return { entries, revision: typeof revision === 'number' ? revision : undefined }
}

function removal(value: unknown): [id: string, entity: null] {
  const { op, entityId } = Object(value)
  return [op === 'remove' && entityId, null]
}

/** A malformed message is not acknowledged. */
export function answerTo(hint: Hint | null): EntityAck | undefined {
  return hint ? { action: 'entityAck' } : undefined
}
