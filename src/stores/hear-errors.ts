/**
 * Listens to a client's `error` event, since without a listener a broken connection would end the whole process.
 * What it tells, each call tells as well. Returns how to stop.
 */
export function hearErrors(client: unknown): () => void {
  const emitter: Partial<Record<'on' | 'off', (event: 'error', run: () => void) => unknown>> = Object(client)
  emitter.on?.('error', ignore)
  return () => emitter.off?.('error', ignore)
}

function ignore(): void {}
