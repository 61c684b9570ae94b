/** How many stores hear each client: one listener serves them all, since Node warns of more than ten. */
const hearers = new WeakMap<object, number>()

/**
 * Listens to a client's `error` event, since without a listener a broken connection would end the whole process.
 * What it tells, each call tells as well. Returns how to stop.
 */
export function hearErrors(client: object): () => void {
  const emitter: Partial<Record<'on' | 'off', (event: 'error', run: () => void) => unknown>> = client
  const before = hearers.get(client) ?? 0
  hearers.set(client, before + 1)
  if (before === 0) emitter.on?.('error', ignore)
  let stopped = false
  return () => {
    if (stopped) return
    stopped = true
    const left = (hearers.get(client) ?? 0) - 1
    hearers.set(client, left)
    if (left === 0) emitter.off?.('error', ignore)
  }
}

function ignore(): void {}
