import { LeaseError } from '../../core/index.ts'
import type { Files } from './files.ts'
import { advance, found, type Generation, MAX_TRIES, newest } from './lineage.ts'

/** The highest token of all resources that were forgotten: a new one must start above it. */
export class TokenFloor {
  readonly #files: Files
  readonly #directory: string
  readonly #makeScratch: () => string

  /** `makeScratch` names a new file each time. */
  constructor(files: Files, directory: string, makeScratch: () => string) {
    this.#files = files
    this.#directory = directory
    this.#makeScratch = makeScratch
  }

  async read(): Promise<number> {
    return floorIn(await newest(this.#files, this.#directory))
  }

  async raise(token: number): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const generation = await newest(this.#files, this.#directory)
      if (generation && floorIn(generation) >= token) return
      const scratch = this.#makeScratch()
      const text = JSON.stringify({ floor: token, change: scratch })
      if (generation) await advance(this.#files, generation, text, scratch)
      else await found(this.#files, { scratch, text, place: this.#directory })
    }
    throw new LeaseError('store-unavailable', `${this.#directory}: the floor could not be raised`)
  }
}

/** One that cannot be read costs nothing unless the clock was set back as well, since tokens follow the clock. */
function floorIn(generation: Generation | null): number {
  const digits = /^\{"floor":(\d{1,16}),/.exec(generation?.text ?? '')
  return digits ? Number(digits[1]) : 0
}
