import type { WebLocks } from '../../src/stores/browser/index.ts'

interface Request {
  readonly name: string
  readonly tab: object
  readonly callback: (lock: unknown) => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: unknown) => void
}

/** The lock manager of one origin, with the parts that the stores use. `tab()` is the API in one tab. */
export class FakeLockManager {
  readonly #held = new Map<string, Request>()
  #pending: Request[] = []

  tab(): WebLocks & { close(): void } {
    const tab = {}
    return {
      request: (name, how, callback) =>
        new Promise((resolve, reject) => {
          const request: Request = { name, tab, callback, resolve, reject }
          if (how.signal?.aborted) return reject(how.signal.reason)
          if (how.steal) return this.#steal(request)
          if (!this.#held.has(name)) return this.#grant(request)
          if (how.ifAvailable) return queueMicrotask(() => settle(request, null))
          this.#pending.push(request)
          how.signal?.addEventListener('abort', () => this.#abort(request, how.signal?.reason))
        }),
      query: async () => ({
        held: [...this.#held.keys()].map((name) => ({ name })),
        pending: this.#pending.map(({ name }) => ({ name })),
      }),
      close: () => this.#close(tab),
    }
  }

  #grant(request: Request): void {
    this.#held.set(request.name, request)
    queueMicrotask(() => settle(request, { name: request.name }).then(() => this.#free(request)))
  }

  #free(request: Request): void {
    if (this.#held.get(request.name) !== request) return
    this.#held.delete(request.name)
    const next = this.#pending.find(({ name }) => name === request.name)
    if (!next) return
    this.#pending = this.#pending.filter((other) => other !== next)
    this.#grant(next)
  }

  #steal(request: Request): void {
    this.#held.get(request.name)?.reject(new DOMException('stolen', 'AbortError'))
    this.#grant(request)
  }

  #abort(request: Request, reason: unknown): void {
    if (!this.#pending.includes(request)) return
    this.#pending = this.#pending.filter((other) => other !== request)
    request.reject(reason)
  }

  #close(tab: object): void {
    this.#pending = this.#pending.filter((request) => request.tab !== tab)
    for (const request of this.#held.values()) if (request.tab === tab) this.#free(request)
  }
}

async function settle({ callback, resolve, reject }: Request, lock: unknown): Promise<void> {
  try {
    resolve(await callback(lock))
  } catch (error) {
    reject(error)
  }
}
