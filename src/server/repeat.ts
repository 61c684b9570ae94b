import type { Clock } from '../core/index.ts'

/** Runs every so often, one after the other, until it is told to stop. Does not keep the process alive. */
export function repeat(
  clock: Clock,
  everyMs: number,
  run: () => Promise<void>,
  onError: (error: unknown) => void,
): () => void {
  let cancel = () => {}
  let stopped = false
  const later = () => {
    if (stopped) return
    cancel = clock.setTimer(() => run().catch(onError).finally(later), everyMs, true)
  }
  later()
  return () => {
    stopped = true
    cancel()
  }
}
