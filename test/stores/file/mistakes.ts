/** Plausible protocols that are wrong, to show that the exploration finds the error. */
import { basename, dirname, join } from 'node:path'
import type { LeaseStore } from '../../../src/core/index.ts'
import type { Files } from '../../../src/stores/file/files.ts'
import { fileOf, newestGeneration } from '../../../src/stores/file/generations.ts'
import { LeaseDirectory } from '../../../src/stores/file/lease-directory.ts'
import { keyOf } from '../../../src/stores/file/names.ts'
import { decode, encode } from '../../../src/stores/file/rows.ts'
import { FileStore } from '../../../src/stores/file/store.ts'
import { type Actor, DIRECTORY } from './explore.ts'
import { RESOURCE, type Referee, TTL_MS } from './referee.ts'

/** Renames the renewed lease over the old file. */
export async function renewByRename({ files, clock, step }: Actor, referee: Referee, id: string) {
  const place = join(DIRECTORY, 'leases', keyOf(RESOURCE))
  const [incarnation = ''] = (await files.list(place)) ?? []
  const generation = await newestGeneration(files, join(place, incarnation))
  const saved = decode(generation?.text ?? '')
  const lease = saved?.row.leases[0]
  if (!generation || !saved || lease?.id !== id || clock.now() >= lease.expiresAt) return
  const sent = clock.monotonic()
  lease.expiresAt = clock.now() + TTL_MS
  const scratch = join(DIRECTORY, 'changes', `${id}.renewal`)
  await files.write(scratch, encode(saved, `${id}'s renewal`))
  await step('rename', (memory) => memory.replace(scratch, fileOf(generation.directory, generation.number)))
  referee.holds({ id, remaining: TTL_MS }, sent)
}

/** Does not check anything after a link. */
export function storeWithoutLook(actor: Actor): LeaseStore {
  const { files } = actor
  return storeOn(actor, (linked) => ({
    ...files,
    list: async (path) => (path === dirname(linked()) ? [basename(linked())] : files.list(path)),
  }))
}

/** Starts a forgotten resource with a token from the clock alone. */
export function storeWithoutFloor(actor: Actor): LeaseStore {
  const { files } = actor
  return storeOn(actor, () => ({
    ...files,
    list: async (path) => (path === join(DIRECTORY, 'floor') ? null : files.list(path)),
  }))
}

/** Checks only that a file with the name that it read still exists, not its content. */
export function storeLookingAtNames(actor: Actor): LeaseStore {
  const { files } = actor
  const texts = new Map<string, string>()
  return storeOn(actor, (linked) => ({
    ...files,
    list: async (path) => {
      const names = await files.list(path)
      return path === dirname(linked())
        ? (names?.filter((name) => name !== basename(linked())) ?? null)
        : names
    },
    read: async (path) => {
      const text = await files.read(path)
      if (text !== null && !texts.has(path)) texts.set(path, text)
      return text === null ? null : (texts.get(path) ?? null)
    },
  }))
}

function storeOn({ name, files, clock }: Actor, mistaken: (lastLinked: () => string) => Files): LeaseStore {
  let last = ''
  const link: Files['link'] = async (from, to) => {
    const linked = await files.link(from, to)
    if (linked) last = to
    return linked
  }
  return new FileStore(
    new LeaseDirectory(DIRECTORY, { ...mistaken(() => last), link }, `${name}-mistaken`),
    clock,
  )
}
