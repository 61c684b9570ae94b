/** A disk of a few megabytes that a fault can fill: a tmpfs of Linux, which only root can mount. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../scripts/services/tools.ts'

const SIZE_BYTES = 4 * 1024 * 1024
const BLOCK_BYTES = 4096

/** Why there can be none here. Empty: there can. */
export async function whyNoSmallDisk(): Promise<string> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'a small tmpfs needs root on Linux'
  try {
    await using _disk = await SmallDisk.mount()
    return ''
  } catch (error) {
    return `a tmpfs cannot be mounted here: ${String(error).split('\n')[0]}`
  }
}

export class SmallDisk implements AsyncDisposable {
  readonly directory: string

  private constructor(directory: string) {
    this.directory = directory
  }

  static async mount(): Promise<SmallDisk> {
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-small-disk-'))
    try {
      await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_BYTES}`, 'tmpfs', directory])
    } catch (error) {
      await rm(directory, { recursive: true })
      throw error
    }
    return new SmallDisk(directory)
  }

  /** Leaves no free block. */
  async fill(): Promise<void> {
    for (let size = SIZE_BYTES; size >= BLOCK_BYTES; size /= 2) {
      for (;;) {
        const written = await writeFile(this.#filler, Buffer.alloc(size), { flag: 'a' }).then(
          () => true,
          (error: NodeJS.ErrnoException) => {
            if (error.code !== 'ENOSPC') throw error
            return false
          },
        )
        if (!written) break
      }
    }
  }

  async empty(): Promise<void> {
    await rm(this.#filler, { force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Lazily: a process that was killed a moment ago may still have a file open.
    await run('umount', ['--lazy', this.directory])
    await rm(this.directory, { recursive: true, force: true })
  }

  get #filler(): string {
    return join(this.directory, 'filler')
  }
}
