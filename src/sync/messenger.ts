/** The port that carries messages between contexts. */

/** Returns an answer or a promise of one, or `undefined` for a message that it does not know. */
export type MessageListener = (message: unknown) => unknown

/**
 * Carries messages to all other contexts, never to its own. A message may arrive late, twice, in another order or
 * not at all.
 */
export interface Messenger {
  /** Resolves with the first answer, or with `undefined` if there is no receiver. It may also hang until `signal` aborts. */
  send(message: unknown, signal: AbortSignal): Promise<unknown>
  subscribe(listener: MessageListener): () => void
}
