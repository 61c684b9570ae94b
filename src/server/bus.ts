import type { JsonObject } from '../base/records.ts'

/**
 * Carries what the nodes of one service tell each other beside lease changes: saves, handoff requests, presence.
 * Each message reaches every node at most once, including the node that sent it, and the messages of one node arrive
 * in order. A message that is sent while a connection is down is lost, so nothing may depend on a single message.
 */
export interface Bus {
  /** Resolves when the backend has accepted the message. That does not mean that anybody has received it. */
  publish(message: BusMessage): Promise<void>
  /**
   * Resolves when the listener receives messages. The subscription survives lost connections and ends when it is
   * disposed.
   */
  subscribe(on: (message: BusMessage) => void): Promise<AsyncDisposable>
  /** Rejects if a message of this node does not come back to it. Absent: the bus cannot tell. */
  check?(): Promise<void>
  /** Closes what the bus itself opened, never the client that it was given. */
  close(): Promise<void>
}

export interface BusMessage {
  /** The part of the server that the message is for. The other parts ignore it. */
  readonly topic: string
  readonly data: JsonObject
}
