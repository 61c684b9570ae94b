import type { Connection } from './context.ts'

/** The locks of one origin: exclusive, first come, first served, never stolen. */
export interface FakeLocks {
  /** As this context sees it. */
  from(context: Connection): Pick<LockManager, 'request'>
}

interface Asker {
  readonly grant: () => void
}

export function createLocks(): FakeLocks {
  /** The first of each line holds the lock. */
  const lines = new Map<string, Asker[]>()

  function leave(name: string, asker: Asker): void {
    const line = lines.get(name) ?? []
    const place = line.indexOf(asker)
    if (place >= 0) line.splice(place, 1)
    if (place === 0) line[0]?.grant()
  }

  function request(
    context: Connection,
    name: string,
    { signal, ifAvailable }: LockOptions,
    work: (lock: Lock | null) => unknown,
  ) {
    return new Promise((resolve, reject) => {
      const run = (lock: Lock | null) => Promise.resolve(lock).then(work).then(resolve, reject)
      const asker: Asker = {
        grant: () =>
          context.answers(async () => {
            if (!context.alive) return
            signal?.removeEventListener('abort', giveUp)
            await run({ name, mode: 'exclusive' })
            context.requests(() => leave(name, asker))
          }),
      }
      const giveUp = () => {
        reject(signal?.reason)
        context.requests(() => leave(name, asker))
      }
      if (signal?.aborted) return reject(signal.reason)
      signal?.addEventListener('abort', giveUp)
      context.onDeath(() => leave(name, asker))
      context.requests(() => {
        const line = lines.get(name) ?? []
        lines.set(name, line)
        if (ifAvailable && line.length > 0) context.answers(() => context.alive && run(null))
        else if (line.push(asker) === 1) asker.grant()
      })
    })
  }

  return {
    from: (context) => ({
      request: ((name: string, ...rest: readonly unknown[]) => {
        const work = rest.at(-1) as (lock: Lock | null) => unknown
        return request(context, name, (rest.length > 1 ? rest[0] : {}) as LockOptions, work)
      }) as LockManager['request'],
    }),
  }
}
