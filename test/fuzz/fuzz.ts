/** Feeds a target with the inputs of a range of seeds, and stops at the first that breaks it. */
import { inputOf } from './mutate.ts'
import { regressionsOf } from './regressions.ts'
import type { Input, Opened, Target, Verdict } from './target.ts'

/** No input is longer than a megabyte. A slower one could stop a server. */
const LIMIT_MS = 3000
const TICK_EVERY = 50

export interface Counts {
  readonly inputs: number
  readonly accepted: number
  readonly refused: number
  readonly seconds: number
}

export interface Range {
  readonly from: number
  readonly seeds: number
  /** Called before each input. */
  readonly onSeed?: (seed: number) => void
}

/** An input that broke the target. */
export class Broken extends Error {
  readonly input: Input
  readonly seed: number | null

  constructor(name: string, seed: number | null, input: Input, cause: unknown) {
    const where = seed === null ? 'a regression' : `seed ${seed}`
    super(`${name}, ${where}: ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`, {
      cause,
    })
    this.input = input
    this.seed = seed
  }
}

/** First what was found before, then the seeds. Rejects with `Broken`. */
export async function fuzz(name: string, target: Target, { from, seeds, onSeed }: Range): Promise<Counts> {
  const started = performance.now()
  const counts = { accepted: 0, refused: 0, unsendable: 0 }
  const found = regressionsOf(name)
  const corpus = [...target.corpus, ...found]
  const opened = await target.open()
  const unheard = listenForUnheard()
  const feed = async (seed: number | null, input: Input) => {
    try {
      counts[await judge(opened, input)]++
      // Node reports a rejection only when it has nothing else to do.
      if (seed === null || seed % TICK_EVERY === 0 || seed === from + seeds - 1)
        await new Promise(setImmediate)
      unheard.throwFirst()
    } catch (error) {
      throw new Broken(name, seed, input, error)
    }
  }
  try {
    for (const input of found) await feed(null, input)
    for (let seed = from; seed < from + seeds; seed++) {
      onSeed?.(seed)
      await feed(seed, inputOf(corpus, name, seed))
    }
  } finally {
    unheard.stop()
    await opened.close?.()
  }
  const { accepted, refused } = counts
  const seconds = (performance.now() - started) / 1000
  return { inputs: seeds + found.length, accepted, refused, seconds }
}

/** Rejections that nobody has handled, and timers whose time is not a number. */
function listenForUnheard(): { throwFirst(): void; stop(): void } {
  const unheard: unknown[] = []
  const onRejection = (reason: unknown) => unheard.push(reason)
  const onWarning = (warning: Error) => warning.name.startsWith('Timeout') && unheard.push(warning)
  process.on('unhandledRejection', onRejection).on('warning', onWarning)
  return {
    throwFirst() {
      if (unheard.length > 0) throw unheard[0]
    },
    stop: () => void process.off('unhandledRejection', onRejection).off('warning', onWarning),
  }
}

async function judge(opened: Opened, input: Input): Promise<Verdict> {
  const before = prototypes()
  const started = performance.now()
  const verdict = await opened.feed(input)
  const ms = performance.now() - started
  if (ms > LIMIT_MS) throw new Error(`it took ${ms.toFixed(0)} ms`)
  if (prototypes() !== before) throw new Error('a prototype was changed')
  return verdict
}

const SHARED = [Object, Array, Function, String, Number, Map, Set, Promise, Error]

/** How many properties the prototypes have that all code shares. */
function prototypes(): number {
  return SHARED.reduce((sum, { prototype }) => sum + Reflect.ownKeys(prototype).length, 0)
}
