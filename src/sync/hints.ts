/**
 * Messages about writes. Each is a hint, which may be late, doubled or false: it only says what to read. Those that
 * arrive before the bootstrap has ended wait for it, as all reads do.
 */
import type { Operation } from './log.ts'
import { type Hint, readMessage, SYNC_ACTIONS } from './messages.ts'
import type { MessageListener } from './messenger.ts'
import type { Parts } from './options.ts'
import type { Reader } from './reader.ts'
import type { View } from './view.ts'

export interface HintsOptions<E extends object, S extends object> extends Parts<E, S> {
  readonly view: View<E, S>
  readonly reader: Reader
  readonly write: (operation: Operation) => Promise<void>
}

export function createHints<E extends object, S extends object>(
  options: HintsOptions<E, S>,
): MessageListener {
  const { namespace, layout, view, reader, warn, write } = options
  return (message) => {
    const hint = readMessage(message, namespace)
    if (hint === null) warn('malformed-message', 'a malformed message was ignored', message)
    if (!hint) return undefined
    void follow(hint)
    return { action: SYNC_ACTIONS.ack }
  }

  async function follow({ entries, revision }: Hint): Promise<void> {
    const removed = entries.filter(([, entity]) => !entity).map(([id]) => id)
    const entityKeys = reader.keysOf(entries.map(([id]) => id))
    await reader.read(removed.length > 0 ? [...entityKeys, ...layout.indexKeys] : entityKeys)
    // A foreign sender leaves it to the receivers to remove ids from the index.
    const left = removed.filter((id) => view.indexes(id) && view.get(id))
    const seenAt = revision ?? view.revision
    if (left.length === 0 || seenAt < view.revision) return
    write({ delta: left.map((id) => [id, null]), seenAt }).catch((error) =>
      warn('remove-failed', `could not remove ${left.join(', ')} from the index`, error),
    )
  }
}
