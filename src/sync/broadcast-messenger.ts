import { onAbort } from '../base/abort.ts'
import { expectText, isObject } from '../base/arguments.ts'
import { randomId } from '../base/random-id.ts'
import type { Messenger } from './messenger.ts'

/** A message, or the answer to the message with the same id. */
interface Envelope {
  readonly id: string
  readonly message?: unknown
  readonly answer?: unknown
}

export interface BroadcastMessenger extends Messenger, AsyncDisposable {
  close(): void
}

/**
 * A `BroadcastChannel`, for tabs of one origin. It cannot know whether there is a receiver: without one, no answer
 * comes.
 *
 * @example
 * createSync({ storage: indexedDbStorage(), messenger: broadcastMessenger(), locks: webLocks() })
 */
export function broadcastMessenger(name = 'holdfast-sync-messages'): BroadcastMessenger {
  expectText('name', name)
  const channel = new BroadcastChannel(name)
  // In Node an open channel would keep the process alive.
  ;(channel as { unref?(): void }).unref?.()
  return {
    send: (message, signal) =>
      new Promise((resolve) => {
        const id = randomId()
        const onAnswer = ({ data }: MessageEvent) => {
          if (isEnvelope(data) && data.id === id && 'answer' in data) resolve(data.answer)
        }
        channel.addEventListener('message', onAnswer)
        onAbort(signal, () => channel.removeEventListener('message', onAnswer))
        channel.postMessage({ id, message } satisfies Envelope)
      }),
    subscribe(listener) {
      const onMessage = async ({ data }: MessageEvent) => {
        if (!isEnvelope(data) || !('message' in data)) return
        try {
          const answer = await listener(data.message)
          if (answer !== undefined) channel.postMessage({ id: data.id, answer } satisfies Envelope)
        } catch {
          // The channel was closed, or the answer cannot be cloned: the sender gets no answer.
        }
      }
      channel.addEventListener('message', onMessage)
      return () => channel.removeEventListener('message', onMessage)
    },
    close: () => channel.close(),
    async [Symbol.asyncDispose]() {
      channel.close()
    },
  }
}

function isEnvelope(data: unknown): data is Envelope {
  return isObject(data) && 'id' in data
}
