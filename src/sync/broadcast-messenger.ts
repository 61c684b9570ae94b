import { randomId } from '../base/random-id.ts'
import { isObject } from './json.ts'
import type { Messenger } from './messenger.ts'

interface Envelope {
  readonly id: string
  readonly message?: unknown
  readonly answer?: unknown
}

/**
 * A `BroadcastChannel`, for tabs of one origin. It cannot tell whether anybody is there: then no answer comes.
 *
 * @example
 * createSync({ storage: indexedDbStorage(), messenger: broadcastMessenger(), locks: webLocks() })
 */
export function broadcastMessenger(name = 'holdfast-sync-messages'): Messenger & { close(): void } {
  const channel = new BroadcastChannel(name)
  // In Node a channel would keep the process alive.
  ;(channel as { unref?(): void }).unref?.()
  return {
    send: (message, signal) =>
      new Promise((resolve) => {
        const id = randomId()
        const onAnswer = ({ data }: MessageEvent) => {
          if (isEnvelope(data) && data.id === id && 'answer' in data) resolve(data.answer)
        }
        channel.addEventListener('message', onAnswer)
        const stopListening = () => channel.removeEventListener('message', onAnswer)
        signal.addEventListener('abort', stopListening)
        if (signal.aborted) stopListening()
        channel.postMessage({ id, message } satisfies Envelope)
      }),
    subscribe(listener) {
      const onMessage = async ({ data }: MessageEvent) => {
        if (!isEnvelope(data) || !('message' in data)) return
        try {
          const answer = await listener(data.message)
          if (answer !== undefined) channel.postMessage({ id: data.id, answer } satisfies Envelope)
        } catch {
          // Closed meanwhile, or an answer that cannot be cloned: to the sender it is no answer.
        }
      }
      channel.addEventListener('message', onMessage)
      return () => channel.removeEventListener('message', onMessage)
    },
    close: () => channel.close(),
  }
}

function isEnvelope(data: unknown): data is Envelope {
  return isObject(data) && 'id' in data
}
