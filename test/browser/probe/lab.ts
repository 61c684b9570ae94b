/** A page of the extension in which a test can create any sync. */
import * as library from '../../../src/sync/index.ts'

const { chromeContext, createSync, SYNC_ACTIONS } = library
const { chrome } = globalThis as unknown as { chrome: library.ChromeApi }

interface Arrival {
  readonly kind: 'event' | 'message'
  readonly content: unknown
  deliver(): void
}

const received: unknown[] = []
const sentAt: number[] = []
const answers: unknown[] = []
const warnings: string[] = []
const arrivals: Arrival[] = []
const continueBootstrap = Promise.withResolvers<void>()
let isHeld = true
let late: library.Sync<{ readonly n: number }>

const ORDERS = {
  arrival: (list: readonly Arrival[]) => list,
  reverse: (list: readonly Arrival[]) => list.toReversed(),
  'messages first': (list: readonly Arrival[]) => list.toSorted((a, b) => b.kind.localeCompare(a.kind)),
  'events first': (list: readonly Arrival[]) => list.toSorted((a, b) => a.kind.localeCompare(b.kind)),
  twice: (list: readonly Arrival[]) => [...list, ...list],
}
export type Order = keyof typeof ORDERS

export const scenarios = {
  /** Receives messages without the library, and acknowledges all but the first ones. */
  async receive(unanswered: number) {
    chrome.runtime.onMessage.addListener((message, _sender, sendResponse) => {
      received.push(message)
      if (received.length > unanswered) sendResponse({ action: SYNC_ACTIONS.ack })
      return true
    })
  },
  received: async () => received.length,

  /** Resolves with what the storage has when the write resolves. */
  async write(id: string, options: { readonly resend?: number } = {}) {
    const context = chromeContext({ tabs: false })
    const messenger = context.messenger as library.Messenger
    const sync = createSync<{ readonly n: number }>({
      ...context,
      ...options,
      messenger: {
        ...messenger,
        async send(message, signal) {
          sentAt.push(performance.now())
          const answer = await messenger.send(message, signal)
          answers.push(answer)
          return answer
        },
      },
      onWarning: ({ message }) => warnings.push(message),
    })
    await sync.setEntity(id, { n: 1 })
    const key = `trackedEntity:${id}`
    return { stored: (await chrome.storage.local.get(key))[key], warnings: [...warnings] }
  },
  warnings: async () => warnings,
  answers: async () => answers,
  /** Milliseconds between one message and the next. */
  pauses: async () => sentAt.slice(1).map((at, n) => at - (sentAt[n] ?? 0)),

  /** Starts a bootstrap. It has read the first key with this prefix, but gets the answer in `endBootstrap`. */
  async startBootstrap(prefix: string) {
    const { storage, messenger, ...context } = chromeContext() as ReturnType<typeof chromeContext> & {
      readonly messenger: library.Messenger
    }
    const held = Promise.withResolvers<void>()
    late = createSync<{ readonly n: number }>({
      ...context,
      storage: {
        ...storage,
        async get(keys) {
          const found = await storage.get(keys)
          if (isHeld && keys.some((key) => key.startsWith(prefix))) {
            held.resolve()
            await continueBootstrap.promise
          }
          return found
        },
        subscribe: (listener) =>
          storage.subscribe((changes) => arrive('event', changes, () => listener(changes))),
      },
      messenger: {
        ...messenger,
        subscribe: (listener) =>
          messenger.subscribe((message) => arrive('message', message, () => listener(message))),
      },
      onWarning: ({ message }) => warnings.push(message),
    })
    void late.bootstrap()
    await held.promise
  },
  arrivals: async () => arrivals.map(({ kind, content }) => `${kind} ${JSON.stringify(content)}`),
  /** All that has arrived is delivered in this order, and then the bootstrap continues. */
  async endBootstrap(order: Order) {
    isHeld = false
    for (const { deliver } of ORDERS[order](arrivals)) deliver()
    const before = await scenarios.shown()
    continueBootstrap.resolve()
    await late.bootstrap()
    return before
  },
  shown: async () => ({
    isBootstrapped: late.isBootstrapped,
    theme: late.settings.themeToken,
    entities: Object.fromEntries(late.state.entries.map(([id, { n }]) => [id, n])),
    warnings,
  }),
}

function arrive(kind: Arrival['kind'], content: unknown, deliver: () => unknown): unknown {
  if (!isHeld) return deliver()
  return new Promise((resolve) => {
    arrivals.push({ kind, content, deliver: () => resolve(deliver()) })
  })
}

Object.assign(globalThis, library, { scenarios })
