/**
 * The Web Locks of leases. The browser frees them when a tab is closed, and any tab can steal them.
 *
 * - The main lock of a resource: an exclusive lease holds it alone, shared leases hold it together. So the browser
 *   itself keeps writers and readers apart, whatever the stored rows say.
 * - The own lock of each lease, whose name contains its id and share. A lease lives as long as it is held.
 * - One lock for each store that has waiters: they wait as long as it is held.
 *
 * A lock is held as long as the promise that its callback returned is pending.
 */
import { decodeShare, encodeShare, isShare } from '../../base/share.ts'
import type { WebLocks } from '../browser/platform.ts'

type LockOptions = Parameters<WebLocks['request']>[1]

/** A lease as its own lock names it. */
export interface NamedLease {
  readonly resource: string
  readonly id: string
  readonly share: number | null
}

export interface HeldLock {
  /** Resolves when the browser knows it. Until then others find the lock held. */
  letGo(): Promise<void>
}

export interface LeaseLocks {
  /** Runs the work while nobody else can change the row of the resource. */
  gated<T>(resource: string, work: () => Promise<T>): Promise<T>
  /** `null`: it is not available. `onStolen` is not called when we let it go. */
  main(resource: string, how: LockOptions, onStolen?: () => void): Promise<HeldLock | null>
  own(lease: NamedLease, how: LockOptions, onStolen?: () => void): Promise<HeldLock | null>
  /** The name of the own lock. */
  ownName(lease: NamedLease): string
  waiters(channel: string): Promise<HeldLock | null>
  /** Resolves when the lease has ended, whatever ended it. */
  ended(lease: NamedLease, signal: AbortSignal): Promise<void>
  held(): Promise<HeldLocks>
}

/** What is held at this moment, by any tab. */
export interface HeldLocks {
  /** By resource and id. */
  readonly leases: ReadonlyMap<string, ReadonlyMap<string, NamedLease>>
  readonly channels: ReadonlySet<string>
}

export function leaseLocks(locks: WebLocks, prefix: string): LeaseLocks {
  // The name of a resource has no control characters, so these are never names of the main lock of another resource.
  const gatePrefix = `${prefix}\u0001`
  const waitersPrefix = `${prefix}\u0002`
  const ownPrefix = `${prefix}\u0003`
  const ownName = ({ resource, id, share }: NamedLease) =>
    ownPrefix + JSON.stringify([resource, id, encodeShare(share)])

  function take(name: string, how: LockOptions, onStolen = () => {}): Promise<HeldLock | null> {
    return new Promise((resolve, reject) => {
      let isOver = false
      let end = () => {}
      const onGranted = (lock: unknown) => {
        if (!lock) return resolve(null)
        const held = new Promise<void>((letGo) => {
          end = letGo
        })
        resolve({
          letGo() {
            isOver = true
            end()
            return ended
          },
        })
        return held
      }
      const ended: Promise<void> = locks.request(name, how, onGranted).then(
        () => {},
        (error) => {
          // Has no effect if the lock was granted: then it was stolen.
          reject(error)
          if (!isOver) onStolen()
        },
      )
    })
  }

  return {
    gated: <T>(resource: string, work: () => Promise<T>) =>
      locks.request(gatePrefix + resource, {}, work) as Promise<T>,
    main: (resource, how, onStolen) => take(prefix + resource, how, onStolen),
    own: (lease, how, onStolen) => take(ownName(lease), how, onStolen),
    ownName,
    waiters: (channel) => take(waitersPrefix + channel, {}),
    // In the mode `shared`, so that nobody takes this lock for that of the lease.
    ended: async (lease, signal) =>
      void (await locks.request(ownName(lease), { mode: 'shared', signal }, () => {})),

    async held() {
      const { held = [] } = await locks.query()
      const leases = new Map<string, Map<string, NamedLease>>()
      const channels = new Set<string>()
      for (const { name = '', mode } of held) {
        if (name.startsWith(waitersPrefix)) channels.add(name.slice(waitersPrefix.length))
        if (!name.startsWith(ownPrefix) || mode === 'shared') continue
        const lease = parseLease(name.slice(ownPrefix.length))
        if (!lease) continue
        const ofResource = leases.get(lease.resource) ?? new Map()
        leases.set(lease.resource, ofResource.set(lease.id, lease))
      }
      return { leases, channels }
    },
  }
}

/** Every page of the origin can take such a lock. */
function parseLease(text: string): NamedLease | null {
  try {
    const [resource, id, stored] = JSON.parse(text)
    const share = decodeShare(stored)
    const isLease =
      typeof resource === 'string' && typeof id === 'string' && (share === null || isShare(share))
    return isLease ? { resource, id, share } : null
  } catch {
    return null
  }
}
