/**
 * What the tabs of a project tell each other:
 *
 *     saved                the newest save has this id
 *     handoff-requested    another tab wants to write: its holder saves, stops writing, and answers
 *     handoff-granted      the answer: the lock may be taken
 *
 * Every message is a hint. The lock decides who writes, and the files decide what was saved.
 */
import { isObject } from '../base/arguments.ts'
import type { Clock } from '../base/clock.ts'
import { randomId } from '../base/random-id.ts'
import { timeOf } from './save-file.ts'

/** The part of a `BroadcastChannel` that AutoSave uses. */
export type TabChannel = Pick<BroadcastChannel, 'postMessage' | 'addEventListener' | 'close'>

/** How long a tab waits for the answer to its request. */
export const HANDOFF_LIMIT_MS = 5000

type Message =
  | { readonly type: 'saved'; readonly id: string }
  | { readonly type: 'handoff-requested' | 'handoff-granted'; readonly id: string }

export interface TabListeners {
  /** Another tab saved. */
  onSaved(id: string): void
  /** Resolves when this tab has stopped writing; with `false` if it does not hold the lock. */
  onHandoffRequested(): Promise<boolean>
}

export function connectTabs(channel: TabChannel | null, clock: Clock, listeners: TabListeners) {
  /** Called with the id of every granted request. */
  let onGranted: (id: string) => void = () => {}
  const send = (message: Message) => channel?.postMessage(message)
  channel?.addEventListener('message', ({ data }) => {
    if (!isMessage(data)) return
    const { type, id } = data
    if (type === 'saved') listeners.onSaved(id)
    else if (type === 'handoff-granted') onGranted(id)
    else
      listeners.onHandoffRequested().then((isStopped) => {
        if (isStopped) send({ type: 'handoff-granted', id })
      })
  })

  return {
    announce: (id: string) => send({ type: 'saved', id }),
    /** Resolves when the holder has answered, or cannot be expected to. */
    requestHandoff(): Promise<void> {
      const request = randomId()
      return new Promise((resolve) => {
        const cancel = clock.setTimer(resolve, HANDOFF_LIMIT_MS)
        onGranted = (id) => {
          if (id !== request) return
          cancel()
          resolve()
        }
        send({ type: 'handoff-requested', id: request })
      })
    },
    close: () => channel?.close(),
  }
}

const TYPES: readonly unknown[] = ['saved', 'handoff-requested', 'handoff-granted']

function isMessage(data: unknown): data is Message {
  if (!isObject(data)) return false
  const { type, id } = data
  return TYPES.includes(type) && typeof id === 'string' && (type !== 'saved' || timeOf(id) !== null)
}
