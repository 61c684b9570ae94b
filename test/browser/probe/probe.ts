/** What the tests of the sync do inside a context. */
import { createSync, type Sync, type SyncOptions, type SyncWarning } from '../../../src/sync/index.ts'

export interface Mark {
  readonly n: number
  /** Milliseconds since 1970, with fractions. */
  readonly at: number
}

export type Probe = ReturnType<typeof createProbe>

/** Puts a probe on the global object, where the tests find it. */
export function exposeProbe(options: SyncOptions): void {
  Object.assign(globalThis, { probe: createProbe(options) })
}

function createProbe(options: SyncOptions) {
  const warnings: SyncWarning[] = []
  const latencies: number[] = []
  const changes: string[] = []
  const sync: Sync<Mark> = createSync<Mark>({ ...options, onWarning: (warning) => warnings.push(warning) })
  sync.subscribe((change) => {
    changes.push(change.type)
    if (change.type === 'entity') latencies.push(now() - change.entity.at)
  })
  return {
    bootstrap: () => sync.bootstrap(),
    /** All of them asked for at once. */
    async add(prefix: string, count: number): Promise<void> {
      await Promise.all(
        Array.from({ length: count }, (_, n) => sync.setEntity(`${prefix}${n}`, { n, at: now() })),
      )
    },
    /** One after the other. */
    async update(id: string, count: number): Promise<void> {
      for (let n = 0; n < count; n++) await sync.setEntity(id, { n, at: now() })
    },
    remove: (id: string) => sync.removeEntity(id),
    reset: () => sync.reset(),
    cleanupOrphans: () => sync.cleanupOrphans(),
    paint: (themeToken: string) => sync.updateSettings({ themeToken }),
    async look() {
      return {
        ids: sync.entries().map(([id]) => id),
        theme: sync.settings.themeToken,
        bootstrapped: sync.isBootstrapped,
        codes: warnings.map(({ code }) => code),
        changes,
      }
    },
    close: () => sync.close(),
    /** How long after the write each change was shown, since the last call. */
    latencies: async () => latencies.splice(0),
  }
}

function now(): number {
  return performance.timeOrigin + performance.now()
}
