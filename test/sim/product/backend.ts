/**
 * The database of the service: one process with the leases and the contents, and the bus between its nodes. A node
 * reaches it through a link of its own.
 */
import type { LeaseError, LeaseRecord, LeaseStore, StoreEvent } from '../../../src/core/index.ts'
import type { JobStore, MemoryJobs, MemoryTransaction } from '../../../src/once/index.ts'
import type { DocumentStore } from '../../../src/server/documents.ts'
import type { Bus } from '../../../src/server/index.ts'
import type { CarriedOutSave, JobLockTime, JobOutcome } from '../../../src/testing/history/index.ts'
import { SimProcess } from '../process.ts'
import type { Referee } from '../referee.ts'
import type { World } from '../world.ts'
import { processGlobals } from './globals.ts'
import type { Link } from './link.ts'
import type { ErrorProgram, Programs, ServerProgram } from './programs.ts'

/** Every store bounds its calls. */
const CALL_LIMIT_MS = 3000

/** A lease as the database knows it, in true time. */
export interface LeaseEnd {
  readonly room: string
  readonly token: number
  readonly lockedAt: number
  readonly endedAt: number
}

export class Backend {
  readonly process: SimProcess
  readonly store: LeaseStore
  readonly documents: DocumentStore
  readonly jobs: MemoryJobs
  readonly jobLocks: JobLockTime[] = []
  readonly outcomes: JobOutcome[] = []
  readonly #completedAt = new WeakMap<object, number>()
  /** In the order in which they were carried out. */
  readonly saves: CarriedOutSave[] = []
  readonly #ends = new Map<number, LeaseEnd>()
  readonly #world: World
  readonly #nodes = new Set<{ readonly link: Link; readonly receive: (text: string) => void }>()

  constructor(world: World, referee: Referee, programs: Programs) {
    this.#world = world
    this.process = new SimProcess(world, 'database', 1, world.stream('database'))
    const { memoryStore, memoryDocuments, memoryJobs } = programs.database(processGlobals(this.process))
    this.jobs = this.#withLocks(memoryJobs({ clock: this.process }))
    this.store = this.#withEnds(referee.ledger(memoryStore({ clock: this.process })))
    const documents = memoryDocuments({ clock: this.process })
    this.documents = {
      ...documents,
      save: async (room, grant, content, conditions) => {
        const saving = await documents.save(room, grant, content, conditions)
        if (saving.saved) this.saves.push({ room, token: grant.token, sequence: conditions?.sequence })
        referee.note(
          'database',
          () =>
            `${saving.saved ? 'saves' : `does not save (${JSON.stringify(saving)})`} ${JSON.stringify(content)} of token ${grant.token}, sequence ${conditions?.sequence}`,
        )
        return saving
      },
    }
  }

  /** The leases that have ended. */
  ends(): LeaseEnd[] {
    return [...this.#ends.values()].filter(({ endedAt }) => endedAt <= this.#world.now)
  }

  /** What is stored; empty: nothing was saved. */
  async content(room: string): Promise<string> {
    return String((await this.documents.read(room))?.content ?? '')
  }

  async holders(room: string): Promise<string[]> {
    const [leases = []] = await this.store.read([resourceOf(room)])
    return leases.map(({ owner }) => owner)
  }

  /** What an administrator does. */
  async free(room: string): Promise<void> {
    const resource = resourceOf(room)
    const [leases = []] = await this.store.read([resource])
    if (leases[0]) await this.store.release({ resource, token: leases[0].token })
  }

  /** Notes the locks of jobs, and the outcomes that are stored outside of transactions. */
  #withLocks(jobs: MemoryJobs): MemoryJobs {
    const world = this.#world
    const last = (job: string) => this.jobLocks.findLast((lock) => lock.job === job)
    return {
      ...jobs,
      acquire: async (id, owner, ttlMs, options) => {
        const answer = await jobs.acquire(id, owner, ttlMs, options)
        if (!answer.granted) return answer
        const { token, remaining } = answer
        const to = world.now + remaining
        const lock = last(id)
        if (lock?.token === token) lock.to = to
        else this.jobLocks.push({ job: id, token, from: world.now, to })
        return answer
      },
      refresh: async (id, owner, ttlMs) => {
        const time = await jobs.refresh(id, owner, ttlMs)
        const lock = last(id)
        if (time && lock) lock.to = world.now + time.remaining
        return time
      },
      release: async (id, owner) => {
        const isReleased = await jobs.release(id, owner)
        const lock = last(id)
        if (isReleased && lock) lock.to = Math.min(lock.to, world.now)
        return isReleased
      },
      complete: (tx, id, holder, outcome) => {
        const isWritten = jobs.complete?.(tx, id, holder, outcome) ?? false
        // From here to its end, the transaction keeps others away, as one that has locked the row does.
        if (isWritten) this.#completedAt.set(tx, world.now)
        return isWritten
      },
      finish: async (id, holder, outcome) => {
        const wasFinished = (await jobs.read(id))?.finished
        const isWritten = await jobs.finish(id, holder, outcome)
        // A repetition is told the same, and writes nothing.
        if (isWritten && !wasFinished) this.outcomes.push({ job: id, token: holder.token, at: world.now })
        return isWritten
      },
    }
  }

  /** A transaction is committed, and its effect happens. */
  noteEffect(tx: object, job: string, token: number): void {
    this.outcomes.push({ job, token, at: this.#completedAt.get(tx) ?? this.#world.now })
  }

  #withEnds(store: LeaseStore): LeaseStore {
    const world = this.#world
    const live = ({ resource, token, remaining }: LeaseRecord) => {
      const { lockedAt = world.now } = this.#ends.get(token) ?? {}
      this.#ends.set(token, {
        room: roomOf(resource),
        token,
        lockedAt,
        endedAt: world.now + (remaining ?? 0),
      })
    }
    const ended = (lease: LeaseRecord | null | undefined) => {
      const end = lease && this.#ends.get(lease.token)
      if (end) this.#ends.set(lease.token, { ...end, endedAt: Math.min(end.endedAt, world.now) })
    }
    return {
      ...store,
      acquire: async (ask) => {
        const answer = await store.acquire(ask)
        if (answer.granted) {
          ended(answer.replaced)
          live(answer.lease)
        }
        return answer
      },
      renew: async (ask) => {
        const renewal = await store.renew(ask)
        if (renewal.ok) live(renewal.lease)
        return renewal
      },
      release: async (ask) => {
        const released = await store.release(ask)
        ended(released.ended)
        return released
      },
    }
  }

  /** The store as a node sees it. */
  storeFor(node: SimProcess, link: Link, { LeaseError }: ErrorProgram): LeaseStore {
    const call = caller(node, link, LeaseError)
    const { store } = this
    const push = pusher(node, link)
    return {
      kind: store.kind,
      supports: store.supports,
      acquire: (ask) =>
        call(() =>
          store.acquire({
            ...ask,
            ...(ask.wake && { wake: push(ask.wake) }),
            ...(ask.lost && { lost: push(ask.lost) }),
          }),
        ),
      renew: (ask) => call(() => store.renew(ask)),
      release: (ask) => call(() => store.release(ask)),
      read: (resources) => call(() => store.read(resources)),
      list: (query) => call(() => store.list(query)),
      sweep: (query) => call(() => store.sweep(query)),
      ...(store.waiting && { waiting: (query) => call(() => store.waiting?.(query) ?? Promise.resolve([])) }),
      watch: (on, query) => call(() => this.#watch(on, query, node, link)),
      close: async () => {},
      [Symbol.asyncDispose]: async () => {},
    }
  }

  /** What is missed while the connection is away is reported as a gap when it is back. */
  async #watch(
    on: (event: StoreEvent) => void,
    query: Parameters<LeaseStore['watch']>[1],
    node: SimProcess,
    link: Link,
  ): Promise<AsyncDisposable> {
    let isMissing = false
    const inOrder = link.stream()
    return this.store.watch((event) => {
      if (link.isHeld || link.fate() !== 'arrives') {
        if (isMissing) return
        isMissing = true
        link.send(() => {
          isMissing = false
          node.deliver(() => on({ type: 'gap' }))
        })
      } else inOrder(() => node.deliver(() => on(event)))
    }, query)
  }

  documentsFor(node: SimProcess, link: Link, { LeaseError }: ErrorProgram): DocumentStore {
    const call = caller(node, link, LeaseError)
    const { documents } = this
    return {
      fence: (room, grant) => call(() => documents.fence(room, grant)),
      read: (room) => call(() => documents.read(room)),
      save: (room, grant, content, conditions) =>
        call(() => documents.save(room, grant, content, conditions)),
      remove: (room, grant, conditions) => call(() => documents.remove(room, grant, conditions)),
      sweep: () => call(async () => documents.sweep?.()),
    }
  }

  /** The jobs as a worker sees them. The transactions that it completes them in are those of `beginFor`. */
  jobsFor(worker: SimProcess, link: Link, { LeaseError }: ErrorProgram): JobStore {
    const call = caller(worker, link, LeaseError)
    const { jobs } = this
    const push = pusher(worker, link)
    return {
      kind: 'simulated',
      add: (id) => call(() => jobs.add(id)),
      acquire: (id, owner, ttlMs, options) => call(() => jobs.acquire(id, owner, ttlMs, options)),
      refresh: (id, owner, ttlMs) => call(() => jobs.refresh(id, owner, ttlMs)),
      finish: (id, holder, outcome) => call(() => jobs.finish(id, holder, outcome)),
      complete: (tx, id, holder, outcome) =>
        call(async () => jobs.complete?.((tx as OpenTransaction).tx, id, holder, outcome) ?? false),
      completed: (id, holder) => call(async () => jobs.completed?.(id, holder) ?? false),
      release: (id, owner) => call(() => jobs.release(id, owner)),
      read: (id) => call(() => jobs.read(id)),
      sweep: (limit) => call(async () => jobs.sweep?.(limit) ?? 0),
      watch: (id, on) => jobs.watch?.(id, push(on)) ?? (() => {}),
    }
  }

  /** Begins a transaction of a worker. What is sent may be lost, and so may the answer to COMMIT. */
  beginFor(worker: SimProcess, link: Link, { LeaseError }: ErrorProgram): Promise<OpenTransaction> {
    const call = caller(worker, link, LeaseError)
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    return call(
      () =>
        new Promise<OpenTransaction>((resolve) => {
          const committed = this.jobs.transaction(async (tx) => {
            resolve({
              tx,
              commit: () =>
                call(() => {
                  end()
                  return committed
                }),
            })
            await ended
          })
          committed.catch(() => {})
        }),
    )
  }

  /** A message that is sent or received while the way is closed is lost. */
  busFor(node: SimProcess, link: Link, { createBus, asLeaseError }: ServerProgram): Bus & AsyncDisposable {
    return createBus({ name: 'simulated', explain: asLeaseError, clock: node }, ({ received }) => {
      const inOrder = link.stream()
      const member = {
        link,
        receive: (text: string) => {
          if (!link.isHeld && link.fate() === 'arrives') inOrder(() => node.deliver(() => received(text)))
        },
      }
      const toDatabase = link.stream()
      return {
        send: async (text) => {
          if (link.isHeld || link.fate() !== 'arrives') return
          toDatabase(() => {
            for (const each of this.#nodes) each.receive(text)
          })
        },
        listen: async () => {
          this.#nodes.add(member)
        },
        unlisten: () => {
          this.#nodes.delete(member)
        },
      }
    })
  }
}

/** A transaction of a worker. It is rolled back if it is never committed. */
export interface OpenTransaction {
  /** In the database. */
  readonly tx: MemoryTransaction
  commit(): Promise<void>
}

const PREFIX = 'document:'

function resourceOf(room: string): string {
  return PREFIX + room
}

function roomOf(resource: string): string {
  return resource.slice(PREFIX.length)
}

/** Hints of the database: lost while the way is closed. */
function pusher(node: SimProcess, link: Link) {
  return <A extends unknown[]>(deliver: (...args: A) => void) => {
    const inOrder = link.stream()
    return (...args: A) => {
      if (link.fate() === 'arrives' && !link.isHeld) inOrder(() => node.deliver(() => deliver(...args)))
    }
  }
}

/** A call that is lost ends with the limit of the store. */
function caller(node: SimProcess, link: Link, Failure: typeof LeaseError) {
  return <T>(work: () => Promise<T>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const unavailable = () =>
        reject(new Failure('store-unavailable', 'the connection was lost (simulated)'))
      const cancelLimit = node.setTimer(unavailable, CALL_LIMIT_MS)
      const answer = (run: () => void) => {
        const fate = link.fate()
        if (fate === 'is lost') return
        link.send(() =>
          node.deliver(() => {
            cancelLimit()
            if (fate === 'arrives') run()
            else unavailable()
          }),
        )
      }
      const fate = link.fate()
      if (fate === 'is lost') return
      if (fate === 'is cut off') return answer(unavailable)
      link.send(() => {
        work().then(
          (value) => answer(() => resolve(value)),
          (error: { readonly code?: unknown; readonly message?: string }) =>
            answer(() =>
              reject(new Failure((error.code ?? 'store-failed') as 'store-failed', String(error.message))),
            ),
        )
      })
    })
}
