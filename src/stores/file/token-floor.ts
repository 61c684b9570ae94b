import { LeaseError } from '../../base/errors.ts'
import type { Files } from './files.ts'
import { addGeneration, createHistory, type Generation, newestGeneration } from './generations.ts'
import { MAX_TRIES } from './options.ts'

/** The highest token of all resources that were forgotten. A new resource starts above it. */
export class TokenFloor {
  readonly #files: Files
  readonly #directory: string
  readonly #makeScratch: () => string

  /** `makeScratch` returns a new path each time. */
  constructor(files: Files, directory: string, makeScratch: () => string) {
    this.#files = files
    this.#directory = directory
    this.#makeScratch = makeScratch
  }

  async read(): Promise<number> {
    return floorIn(await newestGeneration(this.#files, this.#directory))
  }

  async raise(token: number): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const generation = await newestGeneration(this.#files, this.#directory)
      if (generation && floorIn(generation) >= token) return
      const scratch = this.#makeScratch()
      const text = JSON.stringify({ floor: token, change: scratch })
      if (generation) await addGeneration(this.#files, generation, text, scratch)
      else await createHistory(this.#files, { scratch, text, place: this.#directory })
    }
    throw new LeaseError('store-unavailable', `${this.#directory}: the token floor could not be raised`)
  }
}

/** A damaged floor counts as 0. That is safe unless the clock was also set back, because tokens follow the clock. */
function floorIn(generation: Generation | null): number {
  const digits = /^\{"floor":(\d{1,16}),/.exec(generation?.text ?? '')
  return digits ? Number(digits[1]) : 0
}
