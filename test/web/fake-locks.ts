import type { WebLocks } from '../../src/stores/browser/platform.ts'

interface Request {
  readonly name: string
  readonly mode: 'exclusive' | 'shared'
  /** The client. */
  readonly tab: string
  readonly callback: (lock: unknown) => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: unknown) => void
}

/** The lock manager of one origin, with the parts that the stores use. `tab()` is the API in one tab. */
export class FakeLockManager {
  #held: Request[] = []
  #pending: Request[] = []
  #tabs = 0

  tab(): WebLocks & { close(): void } {
    const tab = `tab ${++this.#tabs}`
    return {
      request: (name, how, callback) =>
        new Promise((resolve, reject) => {
          const { mode = 'exclusive' } = how
          const request: Request = { name, mode, tab, callback, resolve, reject }
          if (how.signal?.aborted) return reject(how.signal.reason)
          if (how.steal) return this.#steal(request)
          if (this.#isGrantable(request)) return this.#grant(request)
          if (how.ifAvailable) return queueMicrotask(() => settle(request, null))
          this.#pending.push(request)
          how.signal?.addEventListener('abort', () => this.#abort(request, how.signal?.reason))
        }),
      query: async () => ({
        held: this.#held.map(({ name, mode, tab }) => ({ name, mode, clientId: tab })),
        pending: this.#pending.map(({ name }) => ({ name })),
      }),
      close: () => this.#close(tab),
    }
  }

  /** Nobody who came before holds it or waits for it, except others in the mode `shared`. */
  #isGrantable({ name, mode }: Request, pending = this.#pending): boolean {
    const isInTheWay = (other: Request) =>
      other.name === name && !(mode === 'shared' && other.mode === 'shared')
    return !this.#held.some(isInTheWay) && !pending.some((other) => other.name === name)
  }

  #grant(request: Request): void {
    const { name, mode } = request
    this.#held.push(request)
    queueMicrotask(() => settle(request, { name, mode }).then(() => this.#free(request)))
  }

  #free(request: Request): void {
    if (!this.#held.includes(request)) return
    this.#held = this.#held.filter((other) => other !== request)
    this.#grantNext()
  }

  #grantNext(): void {
    const waiting: Request[] = []
    for (const request of this.#pending) {
      if (this.#isGrantable(request, waiting)) this.#grant(request)
      else waiting.push(request)
    }
    this.#pending = waiting
  }

  #steal(request: Request): void {
    const stolen = this.#held.filter(({ name }) => name === request.name)
    this.#held = this.#held.filter(({ name }) => name !== request.name)
    for (const { reject } of stolen) reject(new DOMException('stolen', 'AbortError'))
    this.#grant(request)
  }

  #abort(request: Request, reason: unknown): void {
    if (!this.#pending.includes(request)) return
    this.#pending = this.#pending.filter((other) => other !== request)
    request.reject(reason)
    this.#grantNext()
  }

  #close(tab: string): void {
    this.#pending = this.#pending.filter((request) => request.tab !== tab)
    for (const request of this.#held) if (request.tab === tab) this.#free(request)
    this.#grantNext()
  }
}

async function settle({ callback, resolve, reject }: Request, lock: unknown): Promise<void> {
  try {
    resolve(await callback(lock))
  } catch (error) {
    reject(error)
  }
}
