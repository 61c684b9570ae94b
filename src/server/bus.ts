import type { JsonObject } from '../core/index.ts'

/**
 * What the nodes of one service tell each other that is no lease: saves, hand-over requests, presence. Each message
 * reaches every node, the sender's own included, at most once, and those of one sender in their order. What is sent
 * while a connection is down is lost, so that nobody may depend on a single message.
 */
export interface Bus {
  /** Resolves when the message was handed over; that says nothing about who hears it. */
  publish(message: BusMessage): Promise<void>
  /** Resolves when the listener hears; from then on it goes on through lost connections until it is disposed of. */
  subscribe(on: (message: BusMessage) => void): Promise<AsyncDisposable>
  close(): Promise<void>
}

export interface BusMessage {
  /** Which part of the server it is for; the others leave it alone. */
  readonly topic: string
  readonly data: JsonObject
}
