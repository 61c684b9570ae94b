import type { Sync } from '../../../src/sync/index.ts'
import { replicaViolations } from '../../../src/testing/history/index.ts'
import { type FakeBrowser, type FakeContext, fakeBrowser } from '../../../src/testing/index.ts'
import type { Item } from '../../sync/fake-extension.ts'
import { type Act, entitiesIn, idsWithoutEntity, SurfaceHistory } from '../../sync/surface-history.ts'
import { SimProcess } from '../process.ts'
import type { Random } from '../world.ts'
import { processGlobals } from './globals.ts'
import type { Link } from './link.ts'
import type { Part } from './part.ts'
import type { Plan, SyncTrouble, Trouble } from './plan.ts'
import type { ExtensionProgram } from './programs.ts'
import type { Stage } from './stage.ts'

const IDS = ['a', 'b:b', '日本']
const ACTS: readonly Act[] = [
  ...Array.from({ length: 8 }, () => 'set' as const),
  ...['patch', 'patch', 'remove', 'remove', 'remove', 'remove', 'reset', 'cleanup', 'settings'],
] as readonly Act[]
/** After the trouble, all contexts agree within this time. `storage.sync` may take a minute until it takes writes again. */
const AGREED_WITHIN_MS = 130_000
const READ_WITHIN_MS = 2000
const LOOK_MS = 500

type SyncPlan = NonNullable<Plan['sync']>

/** A popup, an options page or a content script with its own copy of the state. */
interface Surface {
  readonly name: string
  readonly context: FakeContext
  readonly sync: Sync<Item>
  /** Writes that have not ended. */
  pending: number
}

/** An extension in a browser: its pages and content scripts come and go, and its service worker is ended at any time. */
export class SyncPart implements Part {
  readonly insideLinks: readonly Link[] = []
  readonly outsideLinks: readonly Link[] = []
  readonly #stage: Stage
  readonly #plan: SyncPlan
  readonly #random: Random
  readonly #clock: SimProcess
  readonly #browser: FakeBrowser
  readonly #history: SurfaceHistory
  readonly #broken: string[] = []
  #surfaces: Surface[] = []
  #opened = 0
  #isFull = false

  constructor(stage: Stage) {
    const { world, plan } = stage
    this.#stage = stage
    this.#plan = plan.sync as SyncPlan
    this.#random = world.stream('extension')
    this.#history = new SurfaceHistory(() => world.now)
    const network = world.stream('messages of the extension')
    this.#clock = new SimProcess(world, 'browser', 1, network)
    const { lose, double } = plan.outside
    this.#browser = fakeBrowser({
      clock: this.#clock,
      flavour: this.#plan.flavour,
      latency: [0, 20],
      messageLatency: [0, 120],
      deliveries: () => {
        if (!stage.isStormy) return 1
        // Most messages of an extension are hints, so they are lost more often than those of a network.
        const isLost = network.chance(4 * lose)
        const times = isLost ? 0 : network.chance(4 * double) ? 2 : 1
        if (times !== 1) stage.story.reach(`message: ${isLost ? 'lost' : 'doubled'}`)
        return times
      },
    })
    this.#browser.onWrite(() => {
      if (!this.#plan.isLocked) return
      this.#broken.push(...idsWithoutEntity(this.#browser.items(this.#plan.area)))
    })
    this.#browser.registerWorker((context) => {
      stage.story.tell('worker', () => 'runs')
      const program = this.#program()
      program.createCoordinator({ ...this.#ports(program, context), ...this.#locks(program, context) })
    })
  }

  start(): void {
    for (let n = 0; n < this.#plan.contexts; n++) this.#open()
    const { world, plan } = this.#stage
    const next = () =>
      world.after(plan.paceMs * this.#random.between(0, 1.5), () => {
        if (!this.#stage.isStormy) return
        this.#act()
        next()
      })
    next()
  }

  meet({ kind, ms, whom }: Trouble): boolean {
    const stage = this.#stage
    const surface = this.#surfaces[Math.floor(whom * this.#surfaces.length)]
    switch (kind as SyncTrouble) {
      case 'a context is opened':
        if (this.#surfaces.length > 4) return false
        this.#open()
        return true
      case 'a context is closed':
        if (!surface) return false
        stage.story.tell(surface.name, () => 'is closed')
        this.#forget(surface)
        void surface.sync.close()
        return true
      case 'a context dies':
        if (!surface) return false
        stage.story.tell(surface.name, () => 'dies')
        this.#forget(surface)
        surface.context.kill()
        return true
      case 'the service worker is ended':
        if (!this.#browser.worker) return false
        stage.story.tell('worker', () => 'is ended')
        this.#browser.worker.kill()
        return true
      case 'the browser restarts':
        stage.story.tell('browser', () => 'restarts')
        for (const { context } of this.#surfaces) context.kill()
        this.#browser.worker?.kill()
        this.#surfaces = []
        this.#open()
        return true
      case 'the storage of the extension is full':
        stage.tellTrouble('storage', 'is full', ms)
        this.#isFull = true
        stage.later(ms, () => {
          this.#isFull = false
        })
        return true
    }
  }

  calm(): void {
    this.#isFull = false
    if (this.#surfaces.length === 0) this.#open()
  }

  async settle(): Promise<void> {
    const { world, story } = this.#stage
    // A write that could not be carried out waits in the log for the next page.
    this.#open('page')
    await world.runUntil(world.now + AGREED_WITHIN_MS)
    let read = 0
    for (const { sync } of this.#surfaces)
      void sync.bootstrap().then(
        () => read++,
        (error) => story.violate(`an extension cannot be read: ${error}`),
      )
    if (!(await this.#stage.until(() => read === this.#surfaces.length, READ_WITHIN_MS, LOOK_MS)))
      story.violate(`only ${read} of ${this.#surfaces.length} contexts could read the state`)
    await world.runUntil(world.now + READ_WITHIN_MS)
    for (const { name, pending } of this.#surfaces)
      if (pending > 0) story.violate(`${name} still waits for ${pending} writes`)
    this.#compare()
  }

  async close(): Promise<void> {
    let open = this.#surfaces.length
    for (const { sync } of this.#surfaces) void sync.close().then(() => open--)
    if (!(await this.#stage.until(() => open === 0, AGREED_WITHIN_MS, LOOK_MS)))
      this.#stage.story.violate('close() of a context did not end')
    for (const { context } of this.#surfaces) context.kill()
    this.#browser.worker?.kill()
  }

  judge(): void {
    for (const violation of new Set(this.#broken)) this.#stage.story.violate(violation)
  }

  #compare(): void {
    const { story } = this.#stage
    const { area, isLocked } = this.#plan
    const stored = entitiesIn(this.#browser.items(area), area)
    const shown = new Map(
      this.#surfaces.map(({ name, sync }) => [name, new Map(sync.state.entries)] as const),
    )
    for (const violation of replicaViolations(shown, stored)) story.violate(violation)
    const [first, ...others] = this.#surfaces.map(({ sync }) => sync.settings.themeToken)
    for (const other of others) if (other !== first) story.violate(`settings differ: ${first} and ${other}`)
    if (!isLocked) return
    for (const violation of this.#history.violations(stored)) story.violate(violation)
  }

  #act(): void {
    if (this.#surfaces.length === 0) this.#open()
    const surface = this.#random.pick(this.#surfaces)
    const { name, sync } = surface
    const [act, id] = [this.#random.pick(ACTS), this.#random.pick(IDS)]
    const n = this.#history.next
    this.#stage.story.tell(name, () => `${act} ${id} (${n})`)
    surface.pending++
    this.#history.perform(sync, act, id).then(
      () => {
        surface.pending--
        this.#stage.story.reach(`sync: ${act}`)
        this.#stage.story.tell(name, () => `${act} ${id} (${n}) is acknowledged`)
      },
      (error) => {
        surface.pending--
        this.#stage.story.reach(`sync: ${act} ${error.code}`)
        this.#stage.story.tell(name, () => `${act} was rejected: ${error}`)
        if (typeof error.code !== 'string')
          this.#stage.story.violate(`${act} of ${name} rejects with ${error}`)
      },
    )
  }

  #open(kind = this.#random.chance(0.3) ? 'content' : 'page'): void {
    const isTab = kind === 'content'
    const context = isTab ? this.#browser.openTab() : this.#browser.openPage()
    const name = `${context.kind} ${++this.#opened}`
    this.#stage.story.tell(name, () => 'is opened')
    const program = this.#program()
    // A content script has the locks of the host page, so it writes through the worker.
    const own = isTab
      ? { ...(this.#plan.isLocked && { writes: 'coordinator' as const }) }
      : this.#locks(program, context)
    const sync = program.createSync<Item>({ ...this.#ports(program, context), ...own })
    if (this.#plan.isLocked) this.#history.watch(sync)
    this.#surfaces.push({ name, context, sync, pending: 0 })
  }

  #forget(surface: Surface): void {
    this.#surfaces = this.#surfaces.filter((other) => other !== surface)
  }

  #program(): ExtensionProgram {
    return this.#stage.programs.extension(processGlobals(this.#clock))
  }

  #ports({ chromeStorage, chromeMessenger }: ExtensionProgram, { api, clock }: FakeContext) {
    const { area, layout, shards } = this.#plan
    const { story } = this.#stage
    const storage = api.storage[area] as Required<typeof api.storage>['local']
    const full = {
      ...api,
      storage: {
        ...api.storage,
        [area]: {
          ...storage,
          set: (items: Record<string, unknown>) => {
            if (!this.#isFull) return storage.set(items)
            story.reach('disk: the storage of the extension is full')
            this.#history.hasRefusals = true
            return Promise.reject(new Error('Resource::kQuotaBytes quota exceeded'))
          },
        },
      },
    }
    return {
      storage: chromeStorage(area, full),
      messenger: chromeMessenger({ api }),
      clock,
      layout,
      ...(layout === 'key-per-entity' && { shards }),
      onWarning: () => story.reach('sync: a warning'),
    }
  }

  #locks({ webLocks }: ExtensionProgram, { locks, clock }: FakeContext) {
    return this.#plan.isLocked ? { locks: webLocks({ locks, clock }) } : {}
  }
}
