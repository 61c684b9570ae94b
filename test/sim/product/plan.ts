import type { Random, World } from '../world.ts'
import type { Weather } from './link.ts'

export const PART_NAMES = ['documents', 'jobs', 'sync', 'autosave'] as const
export type PartName = (typeof PART_NAMES)[number]

/** The kinds of trouble of each part. Each takes a while, if `ms` says so, and then ends. */
export const DOCUMENT_TROUBLES = [
  'a tab crashes',
  'a tab is closed',
  'a tab is reloaded',
  'a tab is opened',
  'a tab stands still',
  'a machine sleeps',
  'a tab is hidden',
  'a browser is offline',
  'a browser is cut off silently',
  'the sockets of a tab are cut',
  'a disk is full',
  'a wall clock jumps',
  'a node crashes',
  'a node is deployed',
  'a node stands still',
  'a node is cut off from the database',
  'the database is cut off',
  'an administrator frees the lock',
] as const

export const JOB_TROUBLES = [
  'a worker crashes',
  'a worker crashes in its next work',
  'a worker is deployed',
  'a worker stands still',
  'the machine of a worker sleeps',
  'a worker is cut off from the database',
  'a clock of a worker jumps',
  'the database is cut off',
] as const

export const SYNC_TROUBLES = [
  'a context is opened',
  'a context is closed',
  'a context dies',
  'the service worker is ended',
  'the browser restarts',
  'the storage of the extension is full',
] as const

export const AUTOSAVE_TROUBLES = [
  'an editor is opened',
  'an editor crashes',
  'an editor crashes during its next save',
  'an editor is closed',
  'an editor stands still',
  'the machine of the editors sleeps',
  'an editor is hidden',
  'the clock of the editors jumps',
  'the disk of the editors is full',
] as const

const TROUBLES = {
  documents: DOCUMENT_TROUBLES,
  jobs: JOB_TROUBLES,
  sync: SYNC_TROUBLES,
  autosave: AUTOSAVE_TROUBLES,
} as const

export type DocumentTrouble = (typeof DOCUMENT_TROUBLES)[number]
export type JobTrouble = (typeof JOB_TROUBLES)[number]
export type SyncTrouble = (typeof SYNC_TROUBLES)[number]
export type AutoSaveTrouble = (typeof AUTOSAVE_TROUBLES)[number]
export type TroubleKind = DocumentTrouble | JobTrouble | SyncTrouble | AutoSaveTrouble

/** The part that knows what to do. */
export function partOf(kind: TroubleKind): PartName {
  return PART_NAMES.find((name) => (TROUBLES[name] as readonly string[]).includes(kind)) ?? 'documents'
}

export interface Trouble {
  readonly at: number
  readonly kind: TroubleKind
  readonly ms: number
  /** From 0 up to 1: whom it meets. */
  readonly whom: number
}

/** Everything that a run is made of. A smaller plan of the same seed is a shorter story about the same people. */
export interface Plan {
  /** How long there is trouble. */
  readonly stormMs: number
  /** The mean pause between two actions of a person. */
  readonly paceMs: number
  /** Between browsers and nodes, and between nodes and the database. */
  readonly outside: Weather
  readonly inside: Weather
  readonly troubles: readonly Trouble[]
  /** Absent: this part is not in the run. */
  readonly documents?: { readonly people: number; readonly nodes: number }
  readonly jobs?: { readonly workers: number; readonly jobs: number }
  readonly sync?: {
    readonly contexts: number
    readonly flavour: 'chrome' | 'firefox'
    readonly area: 'local' | 'sync'
    readonly layout: 'one-key' | 'key-per-entity'
    readonly shards: 1 | 3
    /** Without locks, all contexts agree in the end, and that is all that is promised. */
    readonly isLocked: boolean
  }
  readonly autosave?: EditorsPlan
}

export interface EditorsPlan {
  readonly tabs: number
  /** Otherwise a lock file decides who may save. */
  readonly hasWebLocks: boolean
  readonly hasExclusiveWriters: boolean
  readonly hold: 'session' | 'save'
}

const DURATIONS: Partial<Record<TroubleKind, readonly [number, number]>> = {
  'a tab stands still': [500, 15_000],
  'a machine sleeps': [1000, 20_000],
  'a tab is hidden': [500, 10_000],
  'a browser is offline': [500, 15_000],
  'a browser is cut off silently': [200, 12_000],
  'a disk is full': [1000, 20_000],
  'a node crashes': [300, 8000],
  'a node is deployed': [300, 4000],
  'a node stands still': [200, 9000],
  'a node is cut off from the database': [200, 9000],
  'the database is cut off': [200, 5000],
  'a worker crashes': [300, 8000],
  'a worker crashes in its next work': [300, 8000],
  'a worker is deployed': [300, 4000],
  'a worker stands still': [200, 15_000],
  'the machine of a worker sleeps': [200, 15_000],
  'a worker is cut off from the database': [200, 9000],
  'the storage of the extension is full': [200, 9000],
  'an editor stands still': [500, 15_000],
  'the machine of the editors sleeps': [1000, 20_000],
  'an editor is hidden': [500, 10_000],
  'the disk of the editors is full': [200, 9000],
}

export function drawPlan(world: World, cast: readonly PartName[]): Plan {
  const random = world.stream('plan')
  const sometimes = (probability: number, most: number) =>
    random.chance(probability) ? random.between(0, most) : 0
  const stormMs = random.pick([8000, 15_000, 30_000])
  const weather = (slowest: readonly number[]): Weather => ({
    delay: [1, random.pick(slowest)],
    lose: sometimes(0.3, 0.05),
    cut: sometimes(0.3, 0.06),
    double: sometimes(0.3, 0.06),
  })
  const parts = PART_NAMES.filter((name) => cast.includes(name))
  const troubles = parts.flatMap((name) => drawTroubles(world.stream(`troubles of ${name}`), name, stormMs))
  return {
    stormMs,
    paceMs: random.pick([300, 600, 1200]),
    outside: weather([5, 5, 60, 60, 400, 3000]),
    inside: weather([2, 30, 300]),
    troubles: troubles.sort((a, b) => a.at - b.at),
    ...(cast.includes('documents') && {
      documents: { people: random.pick([1, 2, 2, 3]), nodes: random.pick([1, 2, 3]) },
    }),
    ...(cast.includes('jobs') && {
      jobs: { workers: random.pick([1, 2, 3]), jobs: random.pick([1, 3, 8]) },
    }),
    ...(cast.includes('sync') && {
      sync: {
        contexts: random.pick([1, 3, 3]),
        flavour: random.pick(['chrome', 'firefox']),
        area: random.pick(['local', 'sync']),
        layout: random.pick(['one-key', 'key-per-entity']),
        shards: random.pick([1, 3]),
        isLocked: random.chance(0.7),
      },
    }),
    ...(cast.includes('autosave') && {
      autosave: {
        tabs: random.pick([1, 2, 3]),
        hasWebLocks: random.chance(0.7),
        hasExclusiveWriters: random.chance(0.7),
        hold: random.pick(['session', 'session', 'save']),
      },
    }),
  }
}

function drawTroubles(random: Random, part: PartName, stormMs: number): Trouble[] {
  const count = Math.floor(random.between(0, stormMs / 1500))
  return Array.from({ length: count }, (): Trouble => {
    const kind = random.pick<TroubleKind>(TROUBLES[part])
    const [low, high] = DURATIONS[kind] ?? [0, 0]
    return { at: random.between(500, stormMs), kind, ms: random.between(low, high), whom: random.random() }
  })
}
