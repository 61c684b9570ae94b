/** How many users listen to each client. One listener serves them all, because Node warns about more than ten. */
const users = new WeakMap<object, number>()

/**
 * Listens to the `error` event of a client, because a broken connection without a listener would end the process.
 * Each call reports the error as well. Returns a function that stops listening.
 */
export function ignoreErrors(client: object): () => void {
  const emitter: Partial<Record<'on' | 'off', (event: 'error', run: () => void) => unknown>> = client
  const before = users.get(client) ?? 0
  users.set(client, before + 1)
  if (before === 0) emitter.on?.('error', ignore)
  let stopped = false
  return () => {
    if (stopped) return
    stopped = true
    const left = (users.get(client) ?? 0) - 1
    users.set(client, left)
    if (left === 0) emitter.off?.('error', ignore)
  }
}

function ignore(): void {}
