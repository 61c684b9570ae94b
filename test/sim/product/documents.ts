import {
  type Listening,
  replicaViolations,
  saveViolations,
  type Unlock,
  unlockViolations,
  WordRecord,
} from '../../../src/testing/history/index.ts'
import type { LeaseEnd } from './backend.ts'
import { Browser, type Tab } from './browser.ts'
import type { Link } from './link.ts'
import type { Part } from './part.ts'
import { Person, ROOM } from './person.ts'
import type { DocumentTrouble, Trouble } from './plan.ts'
import { SETTINGS, Service, ServiceNode } from './service.ts'
import type { Stage } from './stage.ts'

const NAMES = ['Ann', 'Ben', 'Cid']
const HOUR_MS = 3_600_000
/** How often a person looks at a tab, when the weather is calm. */
const LOOK_MS = 400
/** All that is under way ends within this time when the trouble is over: waits, limits of requests, pauses, TTLs. */
const PATIENCE_MS = 240_000
/** Within this time, in calm weather, every socket has heard of the end of a lock. */
const ANNOUNCED_WITHIN_MS = 2000

/** The document service with its nodes, and people who write in their browsers. */
export class DocumentsPart implements Part {
  readonly #stage: Stage
  readonly #service: Service
  readonly #people: readonly Person[]
  readonly #record = new WordRecord()

  constructor(stage: Stage) {
    const { world, story, backend, programs, plan } = stage
    const { people = 1, nodes = 1 } = plan.documents ?? {}
    this.#stage = stage
    this.#service = new Service(
      Array.from(
        { length: nodes },
        (_, n) => new ServiceNode(`node ${n + 1}`, world, story, backend, programs),
      ),
    )
    const rescued = new Set<string>()
    this.#people = NAMES.slice(0, people).map(
      (name) => new Person(new Browser(name, stage, this.#service), this.#record, story, rescued),
    )
  }

  get insideLinks(): Link[] {
    return this.#service.nodes.map(({ link }) => link)
  }

  get outsideLinks(): Link[] {
    return this.#people.map(({ browser }) => browser.link)
  }

  start(): void {
    for (const person of this.#people) this.#live(person)
  }

  calm(): void {
    for (const node of this.#service.nodes) {
      node.process.resume()
      void node.start()
    }
    for (const { browser } of this.#people) {
      browser.isOffline = false
      browser.storage.fill(false)
      for (const tab of browser.tabs) {
        tab.process.resume()
        tab.notice('online')
        tab.hide(false)
      }
    }
  }

  async settle(): Promise<void> {
    const { world } = this.#stage
    await this.#settleAll()
    for (const person of this.#people) await this.#gather(person)
    await world.runUntil(world.now + ANNOUNCED_WITHIN_MS)
    await this.#compare()
  }

  judge(): void {
    const { backend, story } = this.#stage
    for (const violation of saveViolations(backend.saves)) story.violate(violation)
    const sockets: Listening[] = this.#people.flatMap(({ browser }) => browser.listenings)
    const unlocks = backend.ends().map((end): Unlock => ({ ...end, knownBy: this.#knownBy(end) }))
    for (const violation of unlockViolations(unlocks, sockets)) story.violate(violation)
  }

  /** By when every node has heard of the end of a lock. */
  #knownBy({ lockedAt, endedAt }: LeaseEnd): number {
    const { calmFrom } = this.#stage
    // A node announces what it sees in the database, and this lock came and went while a node saw nothing.
    if (this.insideLinks.some((link) => link.wasHeld(lockedAt, endedAt))) return Infinity
    if (endedAt >= calmFrom) return endedAt + ANNOUNCED_WITHIN_MS
    return calmFrom + SETTINGS.sweep * 1.2 + ANNOUNCED_WITHIN_MS
  }

  meet({ kind, ms, whom }: Trouble): boolean {
    const pick = <T>(items: readonly T[]): T => items[Math.floor(whom * items.length)] as T
    const person = pick(this.#people)
    const { browser } = person
    const tabs = browser.tabs
    const tab = tabs[Math.floor(((whom * 7) % 1) * tabs.length)]
    const node = pick(this.#service.nodes)
    return this.#meet(kind as DocumentTrouble, ms, { person, browser, tab, node })
  }

  #live(person: Person): void {
    const { world, plan } = this.#stage
    const random = world.stream(`${person.browser.name}'s pace`)
    const next = () =>
      world.after(plan.paceMs * random.between(0.2, 1.8), () => {
        if (!this.#stage.isStormy) return
        person.act()
        next()
      })
    person.openTab()
    next()
  }

  #meet(
    kind: DocumentTrouble,
    ms: number,
    {
      person,
      browser,
      tab,
      node,
    }: { person: Person; browser: Browser; tab: Tab | undefined; node: ServiceNode },
  ): boolean {
    const stage = this.#stage
    const tell = (who: string, what: string) => stage.tellTrouble(who, what, ms)
    const later = (run: () => void) => stage.later(ms, run)
    switch (kind) {
      case 'a tab is opened':
        if (browser.tabs.length > 1) return false
        person.openTab()
        return true
      case 'a browser is offline':
        tell(browser.name, 'is offline')
        browser.isOffline = true
        for (const each of browser.tabs) {
          each.notice('offline')
          each.cutSockets()
        }
        later(() => {
          browser.isOffline = false
          for (const each of browser.tabs) each.notice('online')
        })
        return true
      case 'a browser is cut off silently':
        tell(browser.name, 'is cut off')
        browser.link.hold(ms)
        return true
      case 'a disk is full':
        tell(browser.name, 'has a full disk')
        browser.storage.fill(true)
        later(() => browser.storage.fill(false))
        return true
      case 'a node crashes':
        node.crash()
        later(() => void node.start())
        return true
      case 'a node is deployed':
        void node.stop()
        later(() => void node.start())
        return true
      case 'a node stands still':
        if (!node.process.running) return false
        tell(node.name, 'stands still')
        node.process.stop(false)
        later(() => node.process.resume())
        return true
      case 'a node is cut off from the database':
        tell(node.name, 'is cut off from the database')
        node.link.hold(ms)
        return true
      case 'an administrator frees the lock':
        tell('admin', 'frees the lock')
        void stage.backend.free(ROOM)
        return true
    }
    if (!tab?.isOpen) return false
    switch (kind) {
      case 'a tab crashes':
        person.giveUp(tab)
        tab.crash()
        return true
      case 'a tab is closed':
      case 'a tab is reloaded':
        if (!tab.isRunning) return false
        person.giveUp(tab)
        tab.leave()
        if (kind === 'a tab is reloaded') person.openTab()
        return true
      case 'a tab stands still':
      case 'a machine sleeps': {
        if (!tab.isRunning) return false
        tell(tab.name, kind === 'a machine sleeps' ? 'sleeps' : 'stands still')
        tab.process.stop(kind === 'a machine sleeps')
        later(() => tab.process.resume())
        return true
      }
      case 'a tab is hidden':
        tell(tab.name, 'is hidden')
        tab.hide(true)
        later(() => tab.hide(false))
        return true
      case 'the sockets of a tab are cut':
        tell(tab.name, 'loses its sockets')
        tab.cutSockets()
        return true
      case 'a wall clock jumps': {
        // Asleep and set back, nothing in a machine can tell that time has passed.
        tell(tab.name, 'has a clock that jumps')
        tab.process.jump(HOUR_MS * stage.world.stream(`jump ${stage.world.now}`).between(0, 1))
        return true
      }
    }
    return false
  }

  /** Every text is saved or decided, and nobody keeps the lock. */
  async #settleAll(): Promise<void> {
    const world = this.#stage.world
    const until = world.now + PATIENCE_MS
    for (const person of this.#people) if (person.browser.tabs.length === 0) person.openTab()
    for (;;) {
      await world.runUntil(world.now + LOOK_MS)
      const unsettled = this.#people.flatMap((person) =>
        person.browser.tabs.filter((tab) => !person.settle(tab)),
      )
      if (unsettled.length === 0) return
      if (world.now < until) continue
      for (const tab of unsettled) {
        const { phase, demand, error } = tab.lock.state
        const { status, isUnsaved, dropped } = tab.draft.state
        const state = JSON.stringify({ phase, demand, status, isUnsaved, dropped, error: error?.message })
        this.#stage.story.violate(`${tab.name} is not settled ${PATIENCE_MS} ms after the trouble: ${state}`)
      }
      return
    }
  }

  /** One tab is left. It takes what the others of this browser have left behind. */
  async #gather(person: Person): Promise<void> {
    const { browser } = person
    for (let round = 0; round < 5; round++) {
      for (const tab of [...browser.tabs]) {
        person.giveUp(tab)
        tab.leave()
      }
      await this.#stage.world.runUntil(this.#stage.world.now + 1000)
      person.openTab()
      await this.#stage.world.runUntil(this.#stage.world.now + 3000)
      await this.#settleAll()
      if (copiesIn(browser) === 0) return
    }
    this.#stage.story.violate(`${browser.name} keeps ${copiesIn(browser)} texts that no tab offers`)
  }

  /** Everybody shows what is stored, and that is what was typed. */
  async #compare(): Promise<void> {
    const stored = await this.#stage.backend.content(ROOM)
    const shown = this.#people.flatMap(({ browser }) =>
      browser.tabs.map((tab) => [tab.name, new Map([[ROOM, tab.draft.state.content]])] as const),
    )
    for (const violation of replicaViolations(new Map(shown), new Map([[ROOM, stored]])))
      this.#stage.story.violate(violation)
    const { lost, doubled, resurrected } = this.#record.check(stored)
    if (lost.length > 0) this.#stage.story.violate(`lost: ${lost.join(', ')}`)
    if (doubled.length > 0) this.#stage.story.violate(`twice in the text: ${doubled.join(', ')}`)
    if (resurrected.length > 0)
      this.#stage.story.violate(`deleted, and back again: ${resurrected.join(', ')}`)
  }

  async close(): Promise<void> {
    const world = this.#stage.world
    const tabs = this.#people.flatMap(({ browser }) => browser.tabs)
    let open = tabs.length
    for (const { draft, lock } of tabs)
      void draft
        .close()
        .then(() => lock.close())
        .then(() => open--)
    for (let waited = 0; open > 0 && waited < 15_000; waited += LOOK_MS)
      await world.runUntil(world.now + LOOK_MS)
    if (open > 0) this.#stage.story.violate('close() did not end')
    // A request that waited and was withdrawn may have been granted: then nobody renews it.
    const most = SETTINGS.maxWait + SETTINGS.ttl * 1.1
    for (
      let waited = 0;
      waited < most && (await this.#stage.backend.holders(ROOM)).length > 0;
      waited += LOOK_MS
    )
      await world.runUntil(world.now + LOOK_MS)
    for (const holder of await this.#stage.backend.holders(ROOM))
      this.#stage.story.violate(
        `the document is still locked by ${holder} ${most} ms after all have closed it`,
      )
    await Promise.all(this.#service.nodes.map((node) => node.stop()))
  }
}

function copiesIn({ storage }: Browser): number {
  return Object.keys(storage).filter((key) => key.startsWith('holdfast:unsaved:')).length
}
