import { createProjectLocks, type ProjectLockEvent, type ProjectLocks } from '../../src/project/index.ts'
import type { WebDirectory, WebLocks } from '../../src/stores/browser/platform.ts'
import { FakeClock } from '../../src/testing/index.ts'
import { FakeFileSystem, type FileOperation } from './fake-directory.ts'
import { FakeLockManager } from './fake-locks.ts'

export interface Tab {
  readonly locks: ProjectLocks
  readonly events: ProjectLockEvent[]
  /** The types of the events so far, without `lock:`. */
  readonly emitted: () => string[]
  readonly page: EventTarget
  /** The browser releases the locks of the tab, and the page no longer runs. */
  close(): void
}

/** One origin with a clock, a private directory and a lock manager, and as many tabs as a test opens. */
export function projectBed({ exclusive = true } = {}) {
  const clock = new FakeClock()
  const files = new FakeFileSystem(clock, { exclusive })
  const manager = new FakeLockManager()

  /**
   * `locks: null`: a browser without Web Locks. Tabs are not taken over unless `takeoverAfter` says when: the clock of a
   * test does not wait for the messages of a real channel.
   */
  function openTab(
    options: { locks?: WebLocks | null; directory?: WebDirectory; takeoverAfter?: number } = {},
  ): Tab {
    const own = manager.tab()
    const page = new EventTarget()
    const locks = createProjectLocks({
      namespace: 'imgponic',
      clock,
      page,
      directory: options.directory ?? files.root,
      takeoverAfter: options.takeoverAfter ?? false,
      locks: options.locks === undefined ? own : options.locks,
    })
    const events: ProjectLockEvent[] = []
    locks.subscribeLockEvents((event) => events.push(event))
    const emitted = () => events.map(({ type }) => type.slice('lock:'.length))
    return { locks, events, emitted, page, close: () => own.close() }
  }

  /** Lets time pass until the call has ended. */
  async function finished<T>(call: Promise<T>, limitMs = 120_000): Promise<T> {
    let ended = false
    const end = () => {
      ended = true
    }
    call.then(end, end)
    for (let passed = 0; !ended && passed <= limitMs; passed += 50) await clock.advance(50)
    if (!ended) throw new Error(`the call has not ended in ${limitMs} ms`)
    return call
  }

  /** Makes an operation on files fail with an error of this name. */
  function refuse(operation: FileOperation, name: string): void {
    files.refuse = (asked) => {
      if (asked === operation) throw new DOMException(`no ${operation}`, name)
    }
  }

  const lockFile = () => JSON.parse(files.tree['project/.lock'] ?? 'null')

  return { clock, files, manager, openTab, finished, refuse, lockFile }
}
