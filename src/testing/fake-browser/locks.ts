import { onAbort } from '../../base/abort.ts'
import type { RequestsLocks } from '../../sync/index.ts'
import type { Connection } from './context.ts'

/** The locks of one origin: exclusive, granted in the order of the requests, never stolen. */
export interface FakeLocks {
  /** `navigator.locks` of this context. */
  from(context: Connection): RequestsLocks
}

interface LockRequest {
  readonly grant: () => void
}

export function createLocks(): FakeLocks {
  /** The first request of each queue holds the lock. */
  const queues = new Map<string, LockRequest[]>()

  function leave(name: string, request: LockRequest): void {
    const queue = queues.get(name) ?? []
    const position = queue.indexOf(request)
    if (position >= 0) queue.splice(position, 1)
    if (position === 0) queue[0]?.grant()
  }

  function enqueue(
    context: Connection,
    name: string,
    { signal, ifAvailable }: LockOptions,
    work: (lock: Lock | null) => unknown,
  ) {
    return new Promise((resolve, reject) => {
      const run = (lock: Lock | null) => Promise.resolve(lock).then(work).then(resolve, reject)
      const request: LockRequest = {
        grant: () =>
          context.answers(async () => {
            if (!context.alive) return
            unlisten()
            await run({ name, mode: 'exclusive' })
            context.requests(() => leave(name, request))
          }),
      }
      if (signal?.aborted) return reject(signal.reason)
      const unlisten = onAbort(signal, () => {
        reject(signal?.reason)
        context.requests(() => leave(name, request))
      })
      context.onDeath(() => leave(name, request))
      context.requests(() => {
        const queue = queues.get(name) ?? []
        queues.set(name, queue)
        if (ifAvailable && queue.length > 0) context.answers(() => context.alive && run(null))
        else if (queue.push(request) === 1) request.grant()
      })
    })
  }

  return {
    from: (context) => ({
      request: ((name: string, ...rest: readonly unknown[]) => {
        const work = rest.at(-1) as (lock: Lock | null) => unknown
        return enqueue(context, name, (rest.length > 1 ? rest[0] : {}) as LockOptions, work)
      }) as RequestsLocks['request'],
    }),
  }
}
