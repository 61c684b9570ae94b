/**
 * Runs several actors on one file system in memory, and tries every order of their file operations. Each actor uses
 * the real store. If two orders lead to the same files, the same time and the same answers to each actor, only one
 * of them is continued.
 */
import { createHash } from 'node:crypto'
import type { Clock, LeaseStore } from '../../../src/core/index.ts'
import type { Files } from '../../../src/stores/file/files.ts'
import { LeaseDirectory } from '../../../src/stores/file/lease-directory.ts'
import { FileStore } from '../../../src/stores/file/store.ts'
import { MemoryFiles } from './memory-files.ts'

export const DIRECTORY = '/locks'
/** Of the monotonic time, which has fractions and another origin than the wall time. */
const ORIGIN_MS = 812.347_291
const START = Date.UTC(2030, 0, 1)

export interface Actor {
  readonly name: string
  readonly store: LeaseStore
  readonly files: Files
  readonly clock: Clock
  /** A file operation that the store does not use. */
  step<T>(label: string, call: (memory: MemoryFiles) => T): Promise<T>
  /** Runs work as one step: no other actor runs during it. */
  atOnce<T>(label: string, work: (actor: Actor) => Promise<T>): Promise<T>
}

/** The time of all actors. */
export class World {
  now = START
  /** Not changed when the clock is set. */
  elapsed = 0

  pass(ms: number): void {
    this.now += ms
    this.elapsed += ms
  }

  setClock(ms: number): void {
    this.now += ms
  }
}

export interface Scenario<S> {
  /** What the actors share, such as a referee. Created for each order; its JSON is part of the state. */
  readonly share: (world: World) => S
  /** Runs before the actors. */
  readonly before?: (actor: Actor, shared: S) => Promise<void>
  readonly actors: Readonly<Record<string, (actor: Actor, shared: S) => Promise<void>>>
  /** Events that happen once, at any moment: time passes, a clock is set. */
  readonly events?: Readonly<Record<string, (world: World) => void>>
  /** Calls whose order does not matter: they have the same result at any moment. */
  readonly unordered?: RegExp
  /** How often another actor may interrupt one that could continue. Default: at every call. */
  readonly interruptions?: number
  /** Any one actor may die at any moment. */
  readonly deaths?: boolean
  /** Runs after the actors; throws if something is wrong. */
  readonly after: (actor: Actor, shared: S) => Promise<void>
}

const MAX_STATES = 1_000_000

export interface Exploration {
  /** How many different states were reached. */
  readonly states: number
  /** The error, with the order of operations that led to it. */
  readonly failure: { readonly error: unknown; readonly order: readonly string[] } | null
}

/** Stops at the first failure. */
export async function explore<S>(scenario: Scenario<S>): Promise<Exploration> {
  const seen = new Set<string>()
  const path: { choice: number; choices: number }[] = []
  do {
    const run = new Run(scenario)
    try {
      await run.start()
      for (let depth = 0; ; depth++) {
        const choices = run.choices()
        if (choices.length === 0) {
          await run.finish()
          break
        }
        const taken = path[depth]
        if (!taken) {
          const state = run.state()
          if (seen.has(state)) break
          if (seen.size >= MAX_STATES) throw new Error(`more than ${MAX_STATES} states`)
          seen.add(state)
          path.push({ choice: 0, choices: choices.length })
        }
        const choice = choices[path[depth]?.choice ?? 0]
        if (choice) await run.take(choice)
      }
    } catch (error) {
      return { states: seen.size, failure: { error, order: run.order } }
    }
    while (path.length > 0 && isExhausted(path.at(-1))) path.pop()
    const last = path.at(-1)
    if (last) last.choice++
  } while (path.length > 0)
  return { states: seen.size, failure: null }
}

interface Choice {
  readonly label: string
  readonly take: () => void
}

class Run<S> {
  readonly order: string[] = []
  readonly #scenario: Scenario<S>
  readonly #world = new World()
  readonly #memory = new MemoryFiles()
  readonly #shared: S
  /** By actor: a digest of all answers that it got. */
  readonly #histories = new Map<string, string>()
  #pending: (Choice & { readonly actor: string })[] = []
  readonly #happened = new Set<string>()
  #dead: string | null = null
  #last = ''
  #interruptions = 0
  #failure: { readonly error: unknown } | null = null

  constructor(scenario: Scenario<S>) {
    this.#scenario = scenario
    this.#shared = scenario.share(this.#world)
  }

  async start(): Promise<void> {
    const { before, actors } = this.#scenario
    await before?.(
      this.#actor('before', (call) => call()),
      this.#shared,
    )
    for (const [name, act] of Object.entries(actors)) {
      const schedule = <T>(call: () => T, label: string) => this.#schedule(name, label, call)
      act(this.#actor(name, schedule), this.#shared).catch((error) => {
        this.#failure ??= { error }
      })
    }
    await settle()
  }

  choices(): Choice[] {
    const { events = {}, deaths = false, interruptions = Number.POSITIVE_INFINITY } = this.#scenario
    const alive = this.#pending.filter(({ actor }) => actor !== this.#dead)
    const own = alive.filter(({ actor }) => actor === this.#last)
    const calls = own.length > 0 && this.#interruptions >= interruptions ? own : alive
    if (calls.length === 0) return []
    const eventual = Object.entries(events)
      .filter(([label]) => !this.#happened.has(label))
      .map(([label, happen]) => ({
        label,
        take: () => {
          this.#happened.add(label)
          happen(this.#world)
        },
      }))
    const victims = deaths && this.#dead === null ? new Set(calls.map(({ actor }) => actor)) : []
    const dying = Array.from(victims, (actor) => ({
      label: `${actor} dies`,
      take: () => {
        this.#dead = actor
      },
    }))
    return [...calls, ...eventual, ...dying]
  }

  async take(choice: Choice): Promise<void> {
    this.order.push(choice.label)
    choice.take()
    await settle()
    if (this.#failure) throw this.#failure.error
  }

  async finish(): Promise<void> {
    await this.#scenario.after(
      this.#actor('after', (call) => call()),
      this.#shared,
    )
  }

  state(): string {
    const told = [...this.#histories].sort()
    const stops = this.#scenario.interruptions === undefined ? [] : [this.#last, this.#interruptions]
    const rest = [this.#world, told, [...this.#happened], this.#dead, stops, this.#shared]
    return digest(`${this.#memory}${JSON.stringify(rest)}`)
  }

  #actor(name: string, schedule: <T>(call: () => T, label: string) => T | Promise<T>): Actor {
    const memory = this.#memory
    const { unordered = /^$/ } = this.#scenario
    const file = (path: string) => path.slice(DIRECTORY.length + 1)
    // Other actors do not see the scratch files of an actor, so the order of these operations does not matter.
    const apart = (path: string) => file(path).startsWith('changes/')
    const on = async <T>(path: string, label: string, call: () => T): Promise<T> =>
      apart(path) || unordered.test(`${label} ${file(path)}`)
        ? call()
        : schedule(call, `${name}: ${label} ${file(path)}`)
    const files: Files = {
      list: (path) => on(path, 'list', () => memory.list(path)),
      read: (path) => on(path, 'read', () => memory.read(path)),
      write: (path, text) => on(path, 'write', () => memory.write(path, text)),
      link: (from, to) => on(to, 'link', () => memory.link(from, to)),
      move: (from, to) => on(apart(to) ? from : to, 'move', () => memory.move(from, to)),
      remove: (path) => on(path, 'remove', () => memory.remove(path)),
      makeDirectory: async (path) => memory.makeDirectory(path),
      removeDirectory: (path) => on(path, 'remove', () => memory.removeDirectory(path)),
      removeTree: (path) => on(path, 'remove', () => memory.removeTree(path)),
      changedAt: (path) => on(path, 'look at', () => memory.changedAt(path)),
    }
    const clock: Clock = {
      now: () => {
        this.#remember(name, this.#world.now)
        return this.#world.now
      },
      // It stands still between two reads: otherwise no two orders of calls would lead to the same state.
      monotonic: () => ORIGIN_MS + this.#world.elapsed,
      random: () => 0.5,
      setTimer: () => () => {},
    }
    return {
      name,
      files,
      clock,
      store: new FileStore(new LeaseDirectory(DIRECTORY, files, name), clock),
      step: async (label, call) => schedule(() => call(memory), `${name}: ${label}`),
      atOnce: async (label, work) => {
        await schedule(() => {}, `${name}: ${label}`)
        return work(this.#actor(`${name} at once, ${label}`, (call) => call()))
      },
    }
  }

  #schedule<T>(actor: string, label: string, call: () => T): Promise<T> {
    return new Promise((resolve) => {
      const pending = {
        actor,
        label,
        take: () => {
          if (actor !== this.#last && this.#pending.some((other) => other.actor === this.#last))
            this.#interruptions++
          this.#last = actor
          this.#pending = this.#pending.filter((other) => other !== pending)
          const result = call()
          this.#remember(actor, [label, result])
          resolve(result)
        },
      }
      this.#pending.push(pending)
    })
  }

  #remember(actor: string, what: unknown): void {
    this.#histories.set(actor, digest(`${this.#histories.get(actor)}${JSON.stringify(what)}`))
  }
}

function isExhausted(step: { choice: number; choices: number } | undefined): boolean {
  return step !== undefined && step.choice >= step.choices - 1
}

function digest(text: string): string {
  return createHash('sha1').update(text).digest('base64')
}

/** Resolves when all actors wait for their next file operation, or have ended. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
