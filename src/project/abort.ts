import type { Clock } from '../core/index.ts'

/** Rejects with the signal's reason when that aborts. */
export function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    rejectOnAbort(signal, reject)
    clock.setTimer(resolve, ms)
  })
}

export function rejectOnAbort(signal: AbortSignal | undefined, reject: (reason: unknown) => void): void {
  signal?.throwIfAborted()
  signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
}
