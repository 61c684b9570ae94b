/** A browser: its cookies, its storage, its connection to the service, and its tabs. */

import type { DocumentLock, Draft } from '../../../src/client/index.ts'
import type { Listening } from '../../../src/testing/history/index.ts'
import { SimProcess } from '../process.ts'
import type { Random, World } from '../world.ts'
import { processGlobals } from './globals.ts'
import { Link } from './link.ts'
import type { Origin } from './origin.ts'
import { type PageStorage, PageTarget } from './page-globals.ts'
import type { Programs } from './programs.ts'
import { type Answer, ORIGIN, type Service } from './service.ts'
import type { Stage } from './stage.ts'
import type { Story } from './story.ts'

/** After so long without a packet, the other end of a connection that was broken learns of it. */
const RESET_AFTER_MS = 200

/** As much of a `Response` as the client reads. */
export interface PageResponse {
  readonly status: number
  readonly headers: Pick<Headers, 'get'>
  text(): Promise<string>
}

export class Browser {
  readonly name: string
  readonly world: World
  readonly story: Story
  readonly service: Service
  readonly programs: Programs
  readonly random: Random
  readonly origin: Origin
  readonly link: Link
  isOffline = false
  tabs: Tab[] = []
  #cookie: string | undefined
  /** By page: what closes the connections of its requests. */
  readonly #requests = new Map<SimProcess, Set<() => void>>()
  #opened = 0
  /** What the sockets of all its pages have heard. */
  readonly listenings: Listening[] = []

  constructor(name: string, { world, story, programs, origins }: Stage, service: Service) {
    this.name = name
    this.origin = origins.of(name)
    this.world = world
    this.story = story
    this.service = service
    this.programs = programs
    this.random = world.stream(name)
    this.link = new Link(world, world.stream(`${name}'s network`))
  }

  get storage(): PageStorage {
    return this.origin.storage
  }

  open(room: string): Tab {
    const tab = new Tab(this, `${this.name}${++this.#opened}`, room)
    this.tabs.push(tab)
    this.story.tell(tab.name, () => 'opens the document')
    return tab
  }

  forget(tab: Tab): void {
    this.tabs = this.tabs.filter((other) => other !== tab)
  }

  /** The requests of a page that is gone end with it, unless they are to be kept alive. */
  endRequests(process: SimProcess): void {
    for (const close of this.#requests.get(process) ?? []) close()
    this.#requests.delete(process)
  }

  /** Sends a request of a page. The browser adds its cookie, and keeps the one of the response. */
  fetch(process: SimProcess, url: URL, init: RequestInit): Promise<PageResponse> {
    const { link, world, random, service, story } = this
    return new Promise((resolve, reject) => {
      let isOver = false
      const path = url.pathname + url.search
      const gone = new AbortController()
      const close = () => {
        // Not every proxy tells the server.
        if (random.chance(0.8)) link.send(() => gone.abort())
      }
      const requests = this.#requests
      const end = (run: () => void) =>
        process.deliver(() => {
          if (isOver) return
          isOver = true
          requests.get(process)?.delete(close)
          run()
        })
      const broken = () => {
        story.reach('network: a request is cut off')
        world.after(RESET_AFTER_MS * random.random(), () =>
          end(() => reject(new TypeError('fetch failed (simulated)'))),
        )
      }
      init.signal?.addEventListener('abort', () => {
        if (isOver) return
        isOver = true
        reject(init.signal?.reason)
        requests.get(process)?.delete(close)
        close()
      })
      if (init.signal?.aborted) return reject(init.signal.reason)
      if (!init.keepalive) requests.set(process, (requests.get(process) ?? new Set()).add(close))
      if (this.isOffline) return broken()
      const headers: Record<string, string> = { host: new URL(ORIGIN).host, origin: ORIGIN }
      for (const [name, value] of Object.entries((init.headers ?? {}) as Record<string, string>))
        headers[name.toLowerCase()] = value
      if (this.#cookie !== undefined) Object.assign(headers, { cookie: this.#cookie })
      const answered = (answer: Answer) => {
        const fate = link.fate()
        if (fate === 'is lost') return story.reach('network: a response is lost')
        if (fate === 'is cut off') return broken()
        link.send(() => {
          const cookie = answer.headers.get('set-cookie')?.split(';')[0]
          if (cookie) this.#cookie = cookie
          if (init.method !== 'GET')
            story.tell(
              process.name,
              () => `← ${init.method} ${path}: ${answer.status}${errorOf(answer.text)}`,
            )
          story.reach(`http: ${init.method} ${answer.status}${errorOf(answer.text)}`)
          end(() =>
            resolve({ status: answer.status, headers: answer.headers, text: async () => answer.text }),
          )
        })
      }
      const arrive = (answer: (response: Answer) => void) => {
        const node = service.node(random)
        if (!node) return broken()
        node.handle({
          method: String(init.method),
          path,
          headers,
          body: init.body as string | undefined,
          signal: gone.signal,
          answer,
          broken,
        })
      }
      story.tell(process.name, () => `→ ${init.method} ${path} ${init.body ?? ''}`)
      const fate = link.fate()
      if (fate === 'is lost') return story.reach('network: a request is lost')
      if (fate === 'is cut off') return broken()
      if (link.isHeld) story.reach('network: a request is held back')
      if (link.isDoubled()) {
        story.reach('network: a request is doubled')
        link.send(() => link.send(() => arrive(() => {})))
      }
      link.send(() => arrive(answered))
    })
  }
}

function errorOf(text: string): string {
  return /"error":"(\w+)"/.exec(text)?.[0].slice(8).replace(/[:"]/g, ' ').trimEnd() ?? ''
}

/** A page with the document. Its program has globals of its own. */
export class Tab {
  readonly name: string
  readonly process: SimProcess
  readonly lock: DocumentLock
  readonly draft: Draft<string>
  readonly window = new PageTarget()
  readonly document = new PageTarget()
  isOpen = true
  /** Something of this page could not be written into the browser. */
  hasLostCopies = false
  readonly #browser: Browser
  readonly #endLocks: () => void
  readonly #sockets = new Set<PageWebSocket>()

  constructor(browser: Browser, name: string, room: string) {
    const { world, storage, story } = browser
    this.name = name
    this.#browser = browser
    const random = world.stream(name)
    this.process = new SimProcess(world, name, 1 + random.between(-0.005, 0.005), random)
    const { process, window } = this
    const storageOfPage = new Proxy(storage, {
      get: (target, key) => {
        if (key === 'setItem')
          return (name: string, value: string) => {
            if (target.isFull) {
              this.hasLostCopies = true
              story.reach('disk: a copy cannot be written')
            }
            target.setItem(name, value)
          }
        const value = Reflect.get(target, key)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const { locks, close } = browser.origin.locksOf(process)
    this.#endLocks = close
    const { createDocumentLock, createDraft } = browser.programs.page({
      ...processGlobals(process),
      window,
      document: this.document,
      location: { origin: ORIGIN },
      navigator: {
        cookieEnabled: true,
        locks,
        get onLine() {
          return !browser.isOffline
        },
      },
      localStorage: storageOfPage,
      fetch: (url: URL, init: RequestInit) => browser.fetch(process, url, init),
      WebSocket: this.#webSocket(),
      addEventListener: window.addEventListener.bind(window),
      removeEventListener: window.removeEventListener.bind(window),
    })
    this.lock = createDocumentLock({ roomId: room, name: browser.name })
    this.draft = createDraft(this.lock)
    this.#countStates()
  }

  get isRunning(): boolean {
    return this.isOpen && this.process.running
  }

  /** The process is gone. What it has sent is still on its way. */
  crash(): void {
    this.#browser.story.tell(
      this.name,
      () => `crashes; it shows ${JSON.stringify(this.draft.state.content)}, ${this.draft.state.status}`,
    )
    this.#end()
  }

  /** The user closes or leaves the page. */
  leave(): void {
    this.#browser.story.tell(
      this.name,
      () => `is closed; it shows ${JSON.stringify(this.draft.state.content)}, ${this.draft.state.status}`,
    )
    this.document.hidden = true
    this.document.dispatch('visibilitychange')
    this.window.dispatch('pagehide')
    // What it sends in this turn still leaves it.
    this.#browser.world.after(0, () => this.#end())
  }

  hide(isHidden: boolean): void {
    this.document.hidden = isHidden
    this.process.deliver(() => this.document.dispatch('visibilitychange'))
  }

  notice(event: 'online' | 'offline'): void {
    this.process.deliver(() => this.window.dispatch(event))
  }

  /** Every connection of the page ends. */
  cutSockets(): void {
    for (const socket of [...this.#sockets]) socket.break()
  }

  #end(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.process.crash()
    this.#browser.endRequests(this.process)
    this.#endLocks()
    this.cutSockets()
    this.#browser.forget(this)
  }

  #webSocket(): new (address: URL) => PageWebSocket {
    const browser = this.#browser
    const { process } = this
    const name = this.name
    const sockets = this.#sockets
    return class extends PageWebSocket {
      constructor(address: URL) {
        super(browser, process, name, address, () => sockets.delete(this))
        sockets.add(this)
      }
    }
  }

  #countStates(): void {
    const { story } = this.#browser
    let [phase, status] = [this.lock.state.phase, this.draft.state.status] as [string, string]
    this.lock.subscribe(() => {
      const { state } = this.lock
      if (state.demand) story.reach(`demand: ${state.demand}`)
      if (state.passedBy) story.reach('lock: another one passes in the queue')
      if (state.request)
        story.reach(`request: ${state.request.kind}${state.request.isOwn ? ' of an own tab' : ''}`)
      if (state.phase === phase) return
      story.reach(`lock: ${phase} → ${state.phase}`)
      const [before, after] = [phase, state.phase]
      phase = after
      story.tell(
        this.name,
        () => `is ${after} (was ${before})${state.error ? `: ${state.error.message}` : ''}`,
      )
    })
    this.draft.subscribe(() => {
      const { state } = this.draft
      if (state.status === status) return
      story.reach(`draft: ${status} → ${state.status}`)
      const before = status
      status = state.status
      story.tell(
        this.name,
        () => `has its text ${state.status} (was ${before})${state.error ? `: ${state.error.message}` : ''}`,
      )
    })
  }
}

/** A WebSocket of a page: two streams, whose frames keep their order. */
class PageWebSocket {
  readyState = 0
  onmessage: (event: { data: string }) => void = () => {}
  onclose: () => void = () => {}
  readonly #browser: Browser
  readonly #process: SimProcess
  readonly #name: string
  readonly #onEnd: () => void
  readonly #toNode: (deliver: () => void) => void
  readonly #toPage: (deliver: () => void) => void
  #nodeEnd: { received(text: string): void; closed(): void } | null = null
  #isBroken = false
  #listenings: Listening[] = []

  constructor(browser: Browser, process: SimProcess, name: string, address: URL, onEnd: () => void) {
    const { link, service, random } = browser
    this.#browser = browser
    this.#process = process
    this.#name = name
    this.#onEnd = onEnd
    this.#toNode = link.stream()
    this.#toPage = link.stream()
    if (browser.isOffline || link.fate() === 'is cut off') {
      browser.world.after(1, () => this.#close())
      return
    }
    this.#toNode(() => {
      const node = service.node(random)
      const end = node?.accept(
        {
          receive: (text) => this.#toPage(() => this.#receive(text)),
          end: () => this.#toPage(() => this.#close()),
        },
        address.searchParams,
        'holdfast',
      )
      if (!end || this.#isBroken) {
        end?.closed()
        this.#toPage(() => this.#close())
        return
      }
      this.#nodeEnd = end
    })
  }

  send(text: string): void {
    this.#toNode(() => this.#isBroken || this.#nodeEnd?.received(text))
  }

  close(): void {
    if (this.readyState >= 2) return
    this.readyState = 2
    this.#stopListening()
    this.#toNode(() => this.break())
  }

  /** The connection ends, and both ends learn of it. */
  break(): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#stopListening()
    this.#onEnd()
    this.#toNode(() => this.#nodeEnd?.closed())
    this.#toPage(() => this.#closeInPage())
  }

  #close(): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#onEnd()
    this.#closeInPage()
  }

  #closeInPage(): void {
    this.#stopListening()
    this.#process.deliver(() => {
      if (this.readyState === 3) return
      this.readyState = 3
      this.onclose()
    })
  }

  #receive(text: string): void {
    if (this.#isBroken) return
    this.#process.deliver(() => {
      if (this.readyState >= 2) return
      this.readyState = 1
      this.#witness(text)
      this.onmessage({ data: text })
    })
  }

  /** Notes what it hears of the ends of locks. */
  #witness(text: string): void {
    const { world, listenings, story } = this.#browser
    const { event, channel, data } = JSON.parse(text)
    if (event === 'pusher_internal:subscription_succeeded') {
      const listening: Listening = {
        socket: this.#name,
        room: String(channel).slice('document.'.length),
        from: world.now,
        to: this.#isBroken ? world.now : Infinity,
        heard: [],
      }
      this.#listenings.push(listening)
      listenings.push(listening)
    }
    if (!event.startsWith('pusher')) story.reach(`event: ${event}`)
    if (event !== 'document.unlocked') return
    const { room_id: room, token } = JSON.parse(data)
    for (const { heard } of this.#listenings) heard.push({ room, token, at: world.now })
  }

  #stopListening(): void {
    for (const listening of this.#listenings) listening.to = Math.min(listening.to, this.#browser.world.now)
  }
}
