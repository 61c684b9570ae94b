import type { WindowMetrics } from './metrics.ts'
import type { WarningKind } from './signals.ts'

/** What the figures of an incident's windows point to, the strongest hint first. */
export function likelyCauses(windows: readonly WindowMetrics[]): string[] {
  const acquires = sum(windows, ({ acquires }) => acquires)
  const beats = sum(windows, ({ heartbeats }) => heartbeats)
  const onFallback = sum(windows, (window) => (window.fallback_rate ?? 0) * window.acquires)
  const goodBeats = sum(windows, (window) => (window.heartbeat_success ?? 0) * window.heartbeats)
  const warned = (kind: WarningKind) => sum(windows, ({ warnings }) => warnings[kind])
  const hints: readonly (readonly [boolean, string])[] = [
    [
      onFallback > acquires / 2,
      'Most acquires went to the fallback file: Web Locks are missing or refused (an insecure origin, a sandboxed frame, a browser that dropped them).',
    ],
    [
      warned('fallback-corrupt') > 0,
      'The fallback file was found corrupt: another program writes to it, or the disk is full.',
    ],
    [
      warned('heartbeat-delayed') > 0 || (beats > 0 && goodBeats < beats * 0.95),
      'Heartbeats came late or failed: pages are throttled or blocked, or the storage refuses writes.',
    ],
    [
      warned('cleanup') > 0,
      'Releases left their file behind: the storage refuses to delete, and others wait for the TTL.',
    ],
    [
      windows.some(({ wait_ms }) => (wait_ms?.p95 ?? 0) > 5000),
      'Waits are long: a holder keeps the lease for long, or many ask for the same one.',
    ],
  ]
  const found = hints.flatMap(([applies, text]) => (applies ? text : []))
  return found.length > 0
    ? found
    : ['Nothing in these figures points to one. The codes of the errors stand in the lines.']
}

function sum(windows: readonly WindowMetrics[], read: (window: WindowMetrics) => number): number {
  return windows.reduce((total, window) => total + read(window), 0)
}
