/** An extension in the fake browser. Its contexts have the same ports as those of a real extension. */
import {
  type Coordinator,
  chromeMessenger,
  chromeStorage,
  createCoordinator,
  createSync,
  type Sync,
  type SyncOptions,
  type SyncWarning,
  webLocks,
} from '../../src/sync/index.ts'
import { type FakeBrowserOptions, FakeClock, type FakeContext, fakeBrowser } from '../../src/testing/index.ts'

export interface Item {
  readonly n: number
  readonly checked?: boolean
}

export type Surface = Sync<Item> & { readonly context: FakeContext }

export interface FakeExtensionOptions extends Omit<FakeBrowserOptions, 'clock'> {
  /** Options of every context. */
  readonly sync?: Omit<SyncOptions, 'storage' | 'messenger' | 'locks' | 'clock'>
  /** Default true. */
  readonly withLocks?: boolean
  readonly area?: 'local' | 'session' | 'sync'
}

export function fakeExtension({
  sync = {},
  withLocks = true,
  area = 'local',
  ...options
}: FakeExtensionOptions = {}) {
  const clock = new FakeClock()
  const browser = fakeBrowser({ clock, ...options })
  const warnings: SyncWarning[] = []

  const ports = (context: FakeContext) => ({
    ...sync,
    storage: chromeStorage(area, context.api),
    messenger: chromeMessenger({ api: context.api }),
    clock: context.clock,
    onWarning: (warning: SyncWarning) => warnings.push(warning),
  })
  const locked = (context: FakeContext) =>
    withLocks ? { locks: webLocks({ locks: context.locks, clock: context.clock }) } : {}

  /** `Object.assign`, because a spread would read the accessors of the sync only once. */
  const surface = (context: FakeContext, own: Partial<SyncOptions>): Surface =>
    Object.assign(createSync<Item>({ ...ports(context), ...own }), { context })

  return {
    clock,
    browser,
    warnings,
    openPage: (own: Partial<SyncOptions> = {}) => {
      const context = browser.openPage()
      return surface(context, { ...locked(context), ...own })
    },
    /** A content script. With locks, it writes through the worker. */
    openTab: (own: Partial<SyncOptions> = {}) =>
      surface(browser.openTab(), { ...(withLocks && { writes: 'coordinator' }), ...own }),
    startWorker(): { current(): Coordinator } {
      let coordinator: Coordinator | undefined
      browser.registerWorker((context) => {
        coordinator = createCoordinator({ ...ports(context), ...locked(context) })
      })
      return {
        current() {
          if (!coordinator) throw new Error('the worker never ran')
          return coordinator
        },
      }
    },
    /** Lets a second pass, so that every call and message arrives. */
    async settle(ms = 1000): Promise<void> {
      await clock.advance(ms)
    },
    /** Waits on the fake clock. */
    async resolved<T>(promise: Promise<T>): Promise<T> {
      let done = false
      const end = () => {
        done = true
      }
      promise.then(end, end)
      for (let waits = 0; !done && waits < 1000; waits++) await clock.advance(50)
      return promise
    },
  }
}

export type FakeExtension = ReturnType<typeof fakeExtension>

/** Opens surfaces and bootstraps them. */
export async function opened<const K extends readonly ('Page' | 'Tab')[]>(
  extension: FakeExtension,
  ...kinds: K
) {
  const surfaces = kinds.map((kind) => extension[`open${kind}`]())
  await extension.resolved(Promise.all(surfaces.map((surface) => surface.bootstrap())))
  return surfaces as unknown as { [N in keyof K]: Surface }
}

/** The changes of the shown data, without what was shown before. */
export function changesOf(surface: Sync<Item>): { readonly type: string }[] {
  const seen: { readonly type: string }[] = []
  surface.subscribe((change) => {
    const { previous, ...rest } = { previous: undefined, ...change }
    if (change.type !== 'status') seen.push(rest)
  })
  return seen
}
