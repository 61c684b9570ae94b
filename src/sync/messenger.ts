/** Returns `undefined` for what it does not know, and an answer or a promise of one for what it does. */
export type MessageListener = (message: unknown) => unknown

/** Carries messages to the other contexts, never to its own. They may come late, doubled, reordered or not at all. */
export interface Messenger {
  /** Resolves with the first answer, or with `undefined` when nobody is there. It may also hang until `signal` aborts. */
  send(message: unknown, signal: AbortSignal): Promise<unknown>
  subscribe(listener: MessageListener): () => void
}
