import { FakeLockManager } from '../../web/fake-locks.ts'
import type { SimProcess } from '../process.ts'
import type { Random, World } from '../world.ts'
import { PageStorage } from './page-globals.ts'

const CHANNEL_MS = 5

/** What the tabs of a browser share at one origin. */
export class Origin {
  readonly storage = new PageStorage()
  readonly locks = new FakeLockManager()
  readonly #world: World
  readonly #random: Random
  readonly #channels = new Set<PageChannel>()

  constructor(world: World, name: string) {
    this.#world = world
    this.#random = world.stream(`the origin of ${name}`)
  }

  /** `navigator.locks` of a page, and how its locks end with it. */
  locksOf(process: SimProcess) {
    const own = this.locks.tab()
    return {
      close: () => own.close(),
      locks: {
        request: (lock: string, ...rest: unknown[]) => {
          const callback = rest.at(-1) as (lock: unknown) => unknown
          const options = rest.length > 1 ? (rest[0] as object) : {}
          // What the browser calls arrives through the event loop of the page.
          const inPage = (granted: unknown) =>
            new Promise((resolve, reject) =>
              process.deliver(() => void Promise.resolve(callback(granted)).then(resolve, reject)),
            )
          return own.request(lock, options as never, inPage)
        },
        query: () => own.query(),
      },
    }
  }

  /** `BroadcastChannel` of a page. */
  channelOf(process: SimProcess): new (name: string) => PageChannel {
    const [world, random, channels] = [this.#world, this.#random, this.#channels]
    return class extends PageChannel {
      constructor(name: string) {
        super(name, process, (data) => {
          for (const other of channels)
            if (other !== this && other.name === name)
              world.after(random.between(0, CHANNEL_MS), () => other.receive(structuredClone(data)))
        })
        channels.add(this)
      }

      override close(): void {
        super.close()
        channels.delete(this)
      }
    }
  }
}

type MessageListener = (event: { readonly data: unknown }) => void

export class PageChannel {
  readonly name: string
  onmessage: MessageListener | null = null
  readonly postMessage: (data: unknown) => void
  readonly #process: SimProcess
  readonly #listeners = new Set<MessageListener>()
  #isClosed = false

  constructor(name: string, process: SimProcess, send: (data: unknown) => void) {
    this.name = name
    this.#process = process
    this.postMessage = (data) => {
      if (!this.#isClosed) send(data)
    }
  }

  addEventListener(_type: string, listener: MessageListener): void {
    this.#listeners.add(listener)
  }

  removeEventListener(_type: string, listener: MessageListener): void {
    this.#listeners.delete(listener)
  }

  receive(data: unknown): void {
    this.#process.deliver(() => {
      if (this.#isClosed) return
      this.onmessage?.({ data })
      for (const listener of this.#listeners) listener({ data })
    })
  }

  close(): void {
    this.#isClosed = true
  }
}
