/**
 * Jumps of the wall clock of one process, with libfaketime. Its monotonic clock goes on as it is, as it does when an
 * administrator or NTP sets the clock of a machine. Programs in Go read the clock without the C library, so that this has
 * no effect on etcd and NATS.
 */
import { globSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { obtain, type Tool } from '../../scripts/services/tools.ts'

const library: Tool<string> = {
  name: 'libfaketime',
  packages: ['libfaketime'],
  advice: 'install libfaketime.',
  find: async () => globSync('/usr/{lib,lib64,local/lib}/{*/,}faketime/libfaketimeMT.so.1')[0],
}

type Found = { readonly path: string } | { readonly why: string }

let found: Promise<Found> | undefined

/** The path of the library, or why there is none here. Rounds that run at once install it once. */
export function findFakeTime(): Promise<Found> {
  found ??= find()
  return found
}

async function find(): Promise<Found> {
  if (process.platform !== 'linux') return { why: 'libfaketime is used on Linux only' }
  try {
    const [path = ''] = await obtain([library])
    return { path }
  } catch (error) {
    return { why: (error as Error).message }
  }
}

/** How far the wall clock of a process is from the machine's. */
export class FakeTime {
  /** For the process. */
  readonly env: Readonly<Record<string, string>>
  readonly #file: string

  private constructor(library: string, file: string) {
    this.#file = file
    this.env = {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      // How soon a process sees a jump, in seconds.
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    }
  }

  static async create(library: string, file: string): Promise<FakeTime> {
    const time = new FakeTime(library, file)
    await time.jumpTo(0)
    return time
  }

  /** `seconds`: from the clock of the machine. */
  async jumpTo(seconds: number): Promise<void> {
    // It is read while it is written, so it always has the same length.
    const digits = String(Math.abs(seconds)).padStart(6, '0')
    await writeFile(this.#file, `${seconds < 0 ? '-' : '+'}${digits}\n`, { flag: 'r+' }).catch(() =>
      writeFile(this.#file, `+${digits}\n`, { mode: 0o644 }),
    )
  }
}
