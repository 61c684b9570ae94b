/** The part of the project lock's tests that runs in a page. It uses the default instance. */
import {
  acquireProjectLock,
  holdsProjectLock,
  type ProjectLockEvent,
  type ProjectLockLease,
  releaseProjectLock,
  renewProjectLock,
  subscribeLockEvents,
  withProjectLock,
} from '../../../src/project/index.ts'

const events: ProjectLockEvent[] = []
subscribeLockEvents((event) => events.push(event))
const leases: ProjectLockLease[] = []
let bareLockAt = 0
let releasing: Promise<void> | undefined

const latest = () => {
  const lease = leases.at(-1)
  if (!lease) throw new Error('no lease was acquired')
  return lease
}

export const scenarios = {
  async acquire(options?: { scope?: 'history'; standby?: boolean; retry?: { maxAttempts: number } }) {
    const lease = await acquireProjectLock(options)
    leases.push(lease)
    // `Infinity` cannot be passed out of the page.
    return { ...lease, ttlExpiresAt: String(lease.ttlExpiresAt) }
  },

  /** The code of the error; `undefined`: no error. */
  async fails(options?: Parameters<typeof acquireProjectLock>[0]) {
    const error = await acquireProjectLock(options).then(
      () => undefined,
      (error) => error,
    )
    return { code: error?.code as string | undefined, cause: error?.cause?.code as string | undefined }
  },

  async waitInBackground(options?: { standby?: boolean }) {
    acquireProjectLock(options).then((lease) => leases.push(lease))
  },

  /** Waits for a lock without this library, and keeps it. */
  async holdBareLock() {
    void navigator.locks.request('bare', () => {
      bareLockAt = Date.now()
      return new Promise(() => {})
    })
  },

  /** When the bare lock was granted; 0 before. */
  async bareLockAt() {
    return bareLockAt
  },

  async release() {
    await releaseProjectLock(latest())
  },

  /** Releases without waiting for the end, and then keeps the page busy. */
  async releaseAndStall(ms: number) {
    releasing = releaseProjectLock(latest())
    // A few steps of the release happen before the long task.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 10))
    const end = performance.now() + ms
    while (performance.now() < end);
  },

  async released() {
    await releasing
  },

  async renew() {
    const before = latest()
    const after = await renewProjectLock(before)
    return after.ttlExpiresAt - before.ttlExpiresAt
  },

  async holds() {
    return leases.length > 0 && holdsProjectLock(latest())
  },

  async types() {
    return events.map(({ type }) => type.slice('lock:'.length))
  },

  async events() {
    return events.map(({ type, at }) => ({ type, at }))
  },

  async withLock() {
    return withProjectLock(async (lease) => lease.backend)
  },

  async forceAutosave() {
    await releaseProjectLock({ ...latest(), id: crypto.randomUUID(), scope: 'autosave' }, { force: true })
  },

  /** Requests the lock at a given moment, at which other tabs do the same. */
  async acquireAt(time: number) {
    while (Date.now() < time) await new Promise((resolve) => setTimeout(resolve))
    const lease = await acquireProjectLock({ retry: { maxAttempts: 1 } }).catch(() => null)
    if (lease) leases.push(lease)
    return lease !== null
  },

  async putFile(path: string, text: string) {
    const [directory, name] = await locate(path)
    const file = await directory.getFileHandle(name, { create: true })
    const writer = await file.createWritable()
    await writer.write(text)
    await writer.close()
  },

  async clearFiles() {
    const root = await navigator.storage.getDirectory()
    for await (const name of root.keys()) await root.removeEntry(name, { recursive: true })
  },

  async tree() {
    return list(await navigator.storage.getDirectory())
  },

  async refuseRemoval(refuse: boolean) {
    const own = FileSystemDirectoryHandle.prototype as { removeEntry: unknown }
    original ??= own.removeEntry
    own.removeEntry = refuse ? () => Promise.reject(new DOMException('no', 'NotAllowedError')) : original
  },

  /** Every removal stalls before it takes effect. */
  async stallRemovals(ms: number) {
    const own = FileSystemDirectoryHandle.prototype
    const remove = own.removeEntry
    own.removeEntry = async function (this: FileSystemDirectoryHandle, ...args) {
      await new Promise((resolve) => setTimeout(resolve, ms))
      return remove.apply(this, args)
    }
  },
}

let original: unknown

async function locate(path: string): Promise<[FileSystemDirectoryHandle, string]> {
  const parts = path.split('/')
  const name = parts.pop() ?? ''
  let directory = await navigator.storage.getDirectory()
  for (const part of parts) directory = await directory.getDirectoryHandle(part, { create: true })
  return [directory, name]
}

async function list(directory: FileSystemDirectoryHandle, path = ''): Promise<string[]> {
  const found: string[] = []
  for await (const [name, handle] of directory.entries())
    if (handle.kind === 'file') found.push(path + name)
    else found.push(...(await list(handle as FileSystemDirectoryHandle, `${path}${name}/`)))
  return found.sort()
}

Object.assign(globalThis, { scenarios })
