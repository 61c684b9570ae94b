/** The operations that the tests of the sync run inside a context. */
import { type Clock, systemClock } from '../../../src/core/index.ts'
import {
  type ChromeApi,
  createSync,
  type Sync,
  type SyncOptions,
  type SyncWarning,
} from '../../../src/sync/index.ts'

/** `undefined` outside an extension. */
const { chrome } = globalThis as { chrome?: Partial<ChromeApi> }

/** Makes every time limit ten times as long, so that a busy machine does not cause timeouts. */
export const patientClock: Clock = {
  ...systemClock,
  setTimer: (run, ms, background) => systemClock.setTimer(run, 10 * ms, background),
}

export interface Mark {
  readonly n: number
  /** Milliseconds since 1970, with fractions. */
  readonly at: number
}

const BARE_KEY = 'bare'

export type Probe = ReturnType<typeof createProbe>

/** Puts a probe on the global object, for `runProbe`. */
export function exposeProbe(options: SyncOptions): Probe {
  const probe = createProbe(options)
  Object.assign(globalThis, { probe })
  return probe
}

function createProbe(options: SyncOptions) {
  const warnings: SyncWarning[] = []
  const latencies: number[] = []
  const bareLatencies: number[] = []
  const changes: string[] = []
  const sync: Sync<Mark> = createSync<Mark>({
    clock: patientClock,
    ...options,
    onWarning: (warning) => warnings.push(warning),
  })
  sync.subscribe((change) => {
    changes.push(change.type)
    if (change.type === 'entity') latencies.push(now() - change.entity.at)
  })
  chrome?.storage?.onChanged.addListener((changed) => {
    const bare = changed[BARE_KEY]?.newValue as Mark | undefined
    if (bare) bareLatencies.push(now() - bare.at)
  })
  return {
    bootstrap: () => sync.bootstrap(),
    /** Starts all writes at the same time. */
    async add(prefix: string, count: number): Promise<void> {
      await Promise.all(
        Array.from({ length: count }, (_, n) => sync.setEntity(`${prefix}${n}`, { n, at: now() })),
      )
    },
    /** Writes and closes the page in one turn. */
    writeAndClose(id: string): void {
      void sync.setEntity(id, { n: 0, at: now() })
      close()
    },
    /** Writes one entity after the other, and leaves the page in the same turn. */
    writeAndLeave(ids: readonly string[]): void {
      for (const id of ids) void sync.setEntity(id, { n: 0, at: now() })
      location.href = 'about:blank'
    },
    /** Also makes a bare write to the storage, for comparison. */
    async update(id: string, n: number): Promise<void> {
      await chrome?.storage?.local.set({ [BARE_KEY]: { n, at: now() } })
      await sync.setEntity(id, { n, at: now() })
    },
    shown: async (id: string) => sync.get(id)?.n,
    remove: (id: string) => sync.removeEntity(id),
    reset: () => sync.reset(),
    cleanupOrphans: () => sync.cleanupOrphans(),
    paint: (themeToken: string) => sync.updateSettings({ themeToken }),
    async look() {
      return {
        ids: sync.state.entries.map(([id]) => id),
        theme: sync.settings.themeToken,
        bootstrapped: sync.isBootstrapped,
        codes: warnings.map(({ code }) => code),
        changes,
      }
    },
    close: () => sync.close(),
    /** Milliseconds from each write to its change, and from each bare write to its event. */
    latencies: async () => ({ shown: latencies, bare: bareLatencies }),
  }
}

function now(): number {
  return performance.timeOrigin + performance.now()
}
