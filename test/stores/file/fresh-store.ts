import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LeaseStore } from '../../../src/core/index.ts'
import { fileStore } from '../../../src/stores/file/index.ts'
import { keyOf } from '../../../src/stores/file/names.ts'
import { MovedClock } from './moved-clock.ts'

export interface FreshStore extends AsyncDisposable {
  readonly directory: string
  readonly clock: MovedClock
  readonly store: LeaseStore
  /** Like the store of another process. */
  readonly peer: LeaseStore
}

/** Two stores on a directory that does not exist yet, and is deleted after the test. */
export async function freshStore(): Promise<FreshStore> {
  const parent = await mkdtemp(join(tmpdir(), 'holdfast-file-'))
  const directory = join(parent, 'locks')
  const clock = new MovedClock()
  const store = fileStore(directory, { clock })
  const peer = fileStore(directory, { clock })
  return {
    directory,
    clock,
    store,
    peer,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([store.close(), peer.close()])
      await rm(parent, { recursive: true })
    },
  }
}

/** The files of a resource, the newest last. */
export async function generationsOf(directory: string, resource: string): Promise<string[]> {
  const place = join(directory, 'leases', keyOf(resource))
  const [incarnation = ''] = await readdir(place)
  const names = await readdir(join(place, incarnation))
  return names.sort((a, b) => Number(a) - Number(b)).map((name) => join(place, incarnation, name))
}
