import type { Collector } from './collector.ts'

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/**
 * Writes what a collector has heard when the process ends or is told to. Returns how to stop that. A process
 * with no handler of its own ends by the signal, as it would have without this.
 *
 * @example
 * const collector = createCollector({ sinks: [fileSink('telemetry')] })
 * flushOnExit(collector)
 */
export function flushOnExit(collector: Pick<Collector, 'flush'>): () => void {
  const onSignal = (signal: NodeJS.Signals) => {
    flush()
    if (process.listenerCount(signal) > 1) return
    stop()
    process.kill(process.pid, signal)
  }
  // Before all others: one that listens once has left by the time the next is called.
  for (const signal of SIGNALS) process.prependListener(signal, onSignal)
  process.on('exit', flush)
  return stop

  function flush(): void {
    collector.flush()
  }

  function stop(): void {
    for (const signal of SIGNALS) process.off(signal, onSignal)
    process.off('exit', flush)
  }
}
