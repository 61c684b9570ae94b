import type { LeaseError } from '../base/errors.ts'
import type { LeaseRecord } from '../base/records.ts'
import { createLeases, type LeaseStore, type WatchEvent } from '../core/index.ts'

export interface LeaseChange {
  readonly type: 'held' | Exclude<WatchEvent['type'], 'granted' | 'gap'>
  readonly lease: LeaseRecord
}

export interface FollowOptions {
  /** Only resources whose names begin with this text. */
  readonly prefix: string
  readonly onChange: (change: LeaseChange) => void
  /** Something may have been missed. The leases are listed again, and what that shows is reported. */
  readonly onGap: (error: LeaseError | undefined) => void
}

/** The leases that are held or kept. The manager's watch keeps them up to date. */
export interface LiveLeases extends AsyncDisposable {
  /** Ordered by resource and token, with the time that they have left now. */
  readonly current: readonly LeaseRecord[]
}

/** Resolves when the leases that are already held or kept have been reported. */
export async function followLeases(
  store: LeaseStore,
  { prefix, onChange, onGap }: FollowOptions,
): Promise<LiveLeases> {
  const leases = createLeases(store)
  let isStarted = false
  const watch = await leases.watch({ prefix }, (event) => {
    if (event.type !== 'gap') {
      const { type, lease } = event
      if (isStarted) onChange({ type: type === 'granted' ? 'held' : type, lease })
    } else onGap(event.error)
  })
  const live: LiveLeases = {
    get current() {
      return watch.live.toSorted(byResourceAndToken)
    },
    [Symbol.asyncDispose]: () => leases.close(),
  }
  for (const lease of live.current) onChange({ type: lease.state === 'kept' ? 'kept' : 'held', lease })
  isStarted = true
  return live
}

function byResourceAndToken(a: LeaseRecord, b: LeaseRecord): number {
  if (a.resource === b.resource) return a.token - b.token
  return a.resource < b.resource ? -1 : 1
}
