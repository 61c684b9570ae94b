import type { Clock } from '../../base/clock.ts'
import { expectDuration } from '../../base/duration.ts'
import { pauseUntilAborted } from '../../base/pause.ts'
import type { Holder, Protocol } from './frozen-tabs-protocol.ts'
import { MIN_TAKEOVER_MS } from './options.ts'
import type { WebLocks } from './platform.ts'

/** Milliseconds; 0: tabs keep their locks until they are closed. */
export function checkTakeover(option: string, value: unknown): number {
  return value === false ? 0 : expectDuration(option, value, MIN_TAKEOVER_MS)
}

export interface FrozenTabs {
  /** This tab holds a lock for this id: it answers those who ask whether it still runs. */
  add(id: string): void
  delete(id: string): void
  /** Whether another tab may have taken the locks of this tab, because it was silent for too long. True once for each silence. */
  wasSilent(): boolean
  /** Takes a lock from its holder if that tab is frozen. Ends when the signal aborts. */
  watch(holder: Holder, signal: AbortSignal): void
}

/**
 * Takes Web Locks from frozen tabs: see `frozen-tabs-protocol.ts`, which is loaded when this tab first holds a lock or
 * waits for one. A tab that cannot load it neither loses its locks nor takes those of others.
 */
export function frozenTabs(
  locks: () => WebLocks,
  prefix: string,
  clock: Clock,
  takeoverMs: number,
): FrozenTabs {
  const ids = new Set<string>()
  let protocol: Protocol | undefined
  let loading: Promise<Protocol> | undefined

  function use(work: (protocol: Protocol) => unknown): void {
    if (!takeoverMs || !globalThis.BroadcastChannel) return
    loading ??= import('./frozen-tabs-protocol.ts').then(
      // The pause is passed on: with imports of its own, bundlers would split this bundle into many small files.
      ({ createProtocol }) =>
        (protocol = createProtocol(locks, prefix, clock, takeoverMs, ids, pauseUntilAborted)),
    )
    loading.then(work).catch(() => {})
  }

  return {
    add(id) {
      ids.add(id)
      use(({ update }) => update())
    },
    delete(id) {
      ids.delete(id)
      protocol?.update()
    },
    wasSilent: () => !!protocol?.wasSilent(),
    watch: (holder, signal) => use(({ watch }) => watch(holder, signal)),
  }
}
