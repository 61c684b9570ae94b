import type { Connection } from './context.ts'
import { browserCopy } from './wire.ts'

export type RuntimeListener = (
  message: unknown,
  sender: unknown,
  sendResponse: (answer: unknown) => void,
) => boolean | undefined

export interface Receiver {
  readonly connection: Connection
  readonly messages: ReadonlySet<RuntimeListener>
}

/** How many times a message arrives. In a real browser once; 0 or 2 to test what a sender or receiver survives. */
export type Deliveries = () => number

const NO_RECEIVER = 'Could not establish connection. Receiving end does not exist.'
const CHANNEL_CLOSED =
  'A listener indicated an asynchronous response by returning true, but the message channel closed before a response was received'

/** Carries a message to the receivers, and the first answer back. Resolves with `undefined` if nobody answers. */
export function deliver(
  sender: Connection,
  receivers: readonly Receiver[],
  message: unknown,
  deliveries: Deliveries,
): Promise<unknown> {
  if (receivers.length === 0) return Promise.reject(new Error(NO_RECEIVER))
  return new Promise((resolve, reject) => {
    /** The receivers that may still answer. */
    const mayAnswer = new Set(receivers)
    /** Whether a receiver has died that promised an answer. */
    let isBroken = false
    for (const receiver of receivers) {
      const { connection } = receiver
      let promised = false
      const leave = () => {
        if (!mayAnswer.delete(receiver) || mayAnswer.size > 0) return
        if (isBroken) reject(new Error(CHANNEL_CLOSED))
        else resolve(undefined)
      }
      connection.onDeath(() => {
        isBroken ||= promised
        leave()
      })
      const arrive = () => {
        if (!connection.alive) return
        let answered = false
        const respond = (answer: unknown) => {
          answered = true
          const copy = browserCopy(answer)
          connection.requests(() => resolve(copy))
        }
        for (const listener of receiver.messages)
          if (listener(browserCopy(message), { id: sender.origin }, respond) === true) promised = true
        if (!promised && !answered) connection.requests(leave)
      }
      const times = deliveries()
      for (let time = 0; time < times; time++) connection.messages(arrive)
    }
  })
}
