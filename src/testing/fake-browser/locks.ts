import type { Connection } from './context.ts'

/** A lock manager of one origin: exclusive, first come, first served. */
export interface FakeLocks {
  /** As this context sees it. */
  from(context: Connection): Pick<LockManager, 'request'>
}

interface Asker {
  readonly context: Connection
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

  function request(context: Connection, name: string, signal: AbortSignal | undefined, work: () => unknown) {
    return new Promise((resolve, reject) => {
      const asker: Asker = {
        context,
        grant: () =>
          context.answers(async () => {
            if (!context.alive) return
            signal?.removeEventListener('abort', giveUp)
            // A steal is not modelled, so the work decides how this ends.
            await Promise.resolve().then(work).then(resolve, reject)
            context.requests(() => leave(name, asker))
          }),
      }
      const giveUp = () => {
        reject(signal?.reason)
        context.requests(() => leave(name, asker))
      }
      signal?.addEventListener('abort', giveUp)
      context.onDeath(() => leave(name, asker))
      context.requests(() => {
        const line = lines.get(name) ?? []
        lines.set(name, line)
        if (line.push(asker) === 1) asker.grant()
      })
    })
  }

  return {
    from: (context) => ({
      request: ((name: string, ...rest: readonly unknown[]) => {
        const work = rest.at(-1) as () => unknown
        const { signal } = (rest.length > 1 ? rest[0] : {}) as LockOptions
        return request(context, name, signal, work)
      }) as LockManager['request'],
    }),
  }
}
