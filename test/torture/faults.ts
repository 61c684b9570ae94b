/** What can go wrong, and how it is made to. Every choice comes from the seed; nothing here looks at the clock. */
import type { Random } from '../random.ts'
import type { Bed, Node } from './beds/index.ts'
import type { Crew, Seat } from './crew.ts'
import type { FaultyLink, Trouble } from './faulty-link.ts'

/** One fault that has been drawn. It happens between the two calls. */
export interface Fault {
  readonly kind: FaultKind
  begin(): Promise<void>
  end(): Promise<void>
}

export type FaultKind = keyof typeof FAULTS

export interface Scene {
  readonly bed: Bed
  readonly crew: Crew
}

interface FaultType {
  /** Of two faults at once, each is of another part. */
  readonly part: 'network' | 'worker' | 'server' | 'disk'
  possible(scene: Scene): boolean
  draw(random: Random, scene: Scene): Omit<Fault, 'kind'>
}

const hasLinks = ({ bed }: Scene) => bed.nodes.length > 0
const hasNamespaces = ({ crew }: Scene) => crew.seats.some(({ namespace }) => namespace)
const ALL_PACKETS = 100

const FAULTS = {
  blackhole: onLinks(() => ({ toServer: { holds: true }, toClient: { holds: true } })),
  'requests get lost': onLinks(() => ({ toServer: { holds: true } })),
  'answers get lost': onLinks(() => ({ toClient: { holds: true } })),
  'delay past the TTL': onLinks((random, { ttl }) => {
    const late = { delayMs: random.between(1.1 * ttl, 2 * ttl) }
    return random.pick([{ toServer: late }, { toClient: late }]) ?? {}
  }),
  'bytes drip': onLinks(() => ({ toServer: { drips: true }, toClient: { drips: true } })),
  'connections are reset': {
    part: 'network',
    possible: hasLinks,
    draw(random, scene) {
      const links = drawLinks(random, scene)
      const everyMs = random.between(20, 200)
      let repeating: NodeJS.Timeout | undefined
      return {
        async begin() {
          const reset = () => {
            for (const link of links) link.reset()
          }
          reset()
          repeating = setInterval(reset, everyMs)
        },
        async end() {
          clearInterval(repeating)
        },
      }
    },
  },
  'connections are refused': {
    part: 'network',
    possible: hasLinks,
    draw(random, scene) {
      const links = drawLinks(random, scene)
      return {
        async begin() {
          for (const link of links) link.refuse()
        },
        end: async () => heal(links),
      }
    },
  },
  'all packets are lost': onPackets(() => ({ percent: ALL_PACKETS })),
  'packets are lost one way': onPackets((random) => ({
    percent: ALL_PACKETS,
    only: random.chance(0.5) ? 'in' : 'out',
  })),
  'some packets are lost': onPackets((random) => ({ percent: random.between(10, 60) })),

  'worker is killed': onWorker((crew, seat) => ({
    begin: async () => crew.kill(seat),
    end: async () => crew.replace(seat),
  })),
  'worker is stopped': onWorker((_, seat) => ({
    begin: async () => seat.worker?.stop(),
    end: async () => seat.worker?.goOn(),
  })),
  "worker's clock jumps": {
    part: 'worker',
    possible: ({ crew }) => crew.seats.some(({ time }) => time),
    draw(random, { crew }) {
      const seat = random.pick(crew.seats)
      const seconds = drawJump(random)
      return {
        begin: async () => seat?.time?.jumpTo(seconds),
        end: async () => seat?.time?.jumpTo(0),
      }
    },
  },

  'server freezes': {
    part: 'server',
    possible: hasLinks,
    draw(random, { bed }) {
      const node = random.pick([...bed.nodes, ...(bed.behind ?? [])])
      return { begin: async () => node?.freeze(), end: async () => node?.thaw() }
    },
  },
  'server crashes': {
    part: 'server',
    possible: ({ bed }) => bed.mayCrash > 0,
    draw(random, { bed }) {
      const node = random.pick([...bed.nodes, ...(bed.behind ?? [])])
      return crashing(async () => node)
    },
  },
  'leader crashes': {
    part: 'server',
    possible: ({ bed }) => bed.leader !== undefined,
    draw: (_, { bed }) => crashing(async () => bed.leader?.()),
  },
  'all servers crash': {
    part: 'server',
    possible: ({ bed }) => bed.mayCrash > 0 && bed.nodes.length > 1,
    draw: (_, { bed }) => ({
      begin: async () => void (await Promise.all(bed.nodes.map((node) => node.crash()))),
      end: async () => void (await Promise.all(bed.nodes.map((node) => node.revive()))),
    }),
  },
  "store's clock jumps": {
    part: 'server',
    possible: ({ bed }) => bed.jump !== undefined,
    draw(random, { bed }) {
      const seconds = drawJump(random)
      return { begin: async () => bed.jump?.(seconds), end: async () => bed.jump?.(0) }
    },
  },
  'disk is full': {
    part: 'disk',
    possible: ({ bed }) => bed.disk !== undefined,
    draw: (_, { bed }) => ({ begin: async () => bed.disk?.fill(), end: async () => bed.disk?.empty() }),
  },
} satisfies Record<string, FaultType>

/** Deals the kinds that are possible like cards, so that each happens about equally often. */
export class Faults {
  readonly #random: Random
  readonly #scene: Scene
  #deck: FaultKind[] = []

  constructor(random: Random, scene: Scene) {
    this.#random = random
    this.#scene = scene
  }

  /** One fault, or two of different parts that happen at once. */
  next(): Fault[] {
    const kinds = [this.#deal()]
    if (this.#random.chance(0.3)) {
      const second = this.#deal()
      if (partOf(second) === partOf(kinds[0] as FaultKind)) this.#deck.unshift(second)
      else kinds.push(second)
    }
    return kinds.map((kind) => ({ kind, ...FAULTS[kind].draw(this.#random, this.#scene) }))
  }

  #deal(): FaultKind {
    if (this.#deck.length === 0) {
      const kinds = Object.keys(FAULTS) as FaultKind[]
      this.#deck = this.#random.shuffled(kinds.filter((kind) => FAULTS[kind].possible(this.#scene)))
    }
    return this.#deck.pop() as FaultKind
  }
}

function partOf(kind: FaultKind): FaultType['part'] {
  return FAULTS[kind].part
}

function onLinks(
  draw: (random: Random, bed: Bed) => { readonly toServer?: Trouble; readonly toClient?: Trouble },
): FaultType {
  return {
    part: 'network',
    possible: hasLinks,
    draw(random, scene) {
      const links = drawLinks(random, scene)
      const troubles = draw(random, scene.bed)
      const endsWithReset = random.chance(0.3)
      return {
        async begin() {
          for (const link of links) link.trouble(troubles)
        },
        async end() {
          if (endsWithReset) for (const link of links) link.reset()
          heal(links)
        },
      }
    },
  }
}

/** Those of one worker or of all, to one server or to all. */
function drawLinks(random: Random, { bed, crew }: Scene): FaultyLink[] {
  const seats = random.chance(0.7) ? random.shuffled(crew.seats).slice(0, 1) : crew.seats
  const node = random.between(0, bed.nodes.length - 1)
  const toAll = random.chance(0.5)
  return seats.flatMap(({ links }) => links.filter((_, index) => toAll || index === node))
}

function heal(links: readonly FaultyLink[]): void {
  for (const link of links) link.heal()
}

function onPackets(draw: (random: Random) => { percent: number; only?: 'in' | 'out' }): FaultType {
  return {
    part: 'network',
    possible: (scene) => hasLinks(scene) && hasNamespaces(scene),
    draw(random, { crew }) {
      const seats = random.chance(0.7) ? random.shuffled(crew.seats).slice(0, 1) : crew.seats
      const loss = draw(random)
      return {
        begin: async () => void (await Promise.all(seats.map(({ namespace }) => namespace?.lose(loss)))),
        end: async () => void (await Promise.all(seats.map(({ namespace }) => namespace?.heal()))),
      }
    },
  }
}

function onWorker(act: (crew: Crew, seat: Seat) => Omit<Fault, 'kind'>): FaultType {
  return {
    part: 'worker',
    possible: () => true,
    draw: (random, { crew }) => act(crew, random.pick(crew.seats) as Seat),
  }
}

function crashing(choose: () => Promise<Node | undefined>): Omit<Fault, 'kind'> {
  let crashed: Node | undefined
  return {
    async begin() {
      crashed = await choose()
      await crashed?.crash()
    },
    end: async () => crashed?.revive(),
  }
}

/** Hours and seconds, back and forth. */
function drawJump(random: Random): number {
  const seconds = random.chance(0.5) ? random.between(1, 30) : random.between(3600, 90_000)
  return random.chance(0.5) ? seconds : -seconds
}
