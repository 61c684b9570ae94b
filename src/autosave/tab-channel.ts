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
import { HANDOFF_LIMIT_MS } from './options.ts'
import { timeOf } from './save-file.ts'
import type { WriterLock } from './writer-lock.ts'

/** The part of a `BroadcastChannel` that AutoSave uses. */
export type TabChannel = Pick<BroadcastChannel, 'postMessage' | 'addEventListener' | 'close'>

type Message =
  | { readonly type: 'saved'; readonly id: string }
  | { readonly type: 'handoff-requested' | 'handoff-granted'; readonly id: string }

export interface TabOptions {
  readonly channel: TabChannel | null
  readonly clock: Clock
  readonly lock: Pick<WriterLock, 'isHeld' | 'steal' | 'handOver'>
  /** Saves what can be saved now. */
  readonly saveNow: () => Promise<void>
  /** Another tab saved. */
  readonly onSaved: (id: string) => void
  /** This tab has given the lock to another one. */
  readonly onHandedOver: () => void
}

export function connectTabs({ channel, clock, lock, saveNow, onSaved, onHandedOver }: TabOptions) {
  /** Called with the id of every granted request. */
  let onGranted: (id: string) => void = () => {}
  const send = (message: Message) => channel?.postMessage(message)
  channel?.addEventListener('message', ({ data }) => {
    if (!isMessage(data)) return
    const { type, id } = data
    if (type === 'saved') onSaved(id)
    else if (type === 'handoff-granted') onGranted(id)
    else void handOver(id)
  })

  return {
    announce: (id: string) => send({ type: 'saved', id }),
    /** Asks the holder for the lock, and takes it. Rejects if it cannot be taken. */
    async takeover(): Promise<void> {
      await requestHandoff()
      if (!lock.isHeld) await lock.steal()
    },
    close: () => channel?.close(),
  }

  /** What cannot be saved now stays in this tab. */
  async function handOver(request: string): Promise<void> {
    if (!lock.isHeld) return
    await saveNow()
    if (!lock.isHeld) return
    lock.handOver()
    onHandedOver()
    send({ type: 'handoff-granted', id: request })
  }

  /** Resolves when the holder has answered, or cannot be expected to. */
  function requestHandoff(): Promise<void> {
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
  }
}

const TYPES: readonly unknown[] = ['saved', 'handoff-requested', 'handoff-granted']

function isMessage(data: unknown): data is Message {
  if (!isObject(data)) return false
  const { type, id } = data
  return TYPES.includes(type) && typeof id === 'string' && (type !== 'saved' || timeOf(id) !== null)
}
