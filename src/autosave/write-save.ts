import type { Clock } from '../base/clock.ts'
import { type Archive, type Contents, type Draft, isSaved } from './archive.ts'
import { AutoSaveError, asWriteError } from './errors.ts'
import { MAX_UNLISTED_SAVES } from './options.ts'
import { fileSizeOf, type Save, type SaveContent, type SaveInfo, serialize, timeOf } from './save-file.ts'

export interface SaveOptions {
  readonly archive: Archive
  readonly clock: Clock
  readonly limits: Limits
  readonly read: () => unknown
  readonly onSerialized: (content: SaveContent) => void
  /** Called right before the commit and before each removal. */
  readonly holdsLock: () => boolean
  readonly onWritten: () => void
  /** Old saves were removed early, to make space. */
  readonly onSpaceFreed: (removed: number) => void
}

export interface Limits {
  readonly generations: number
  readonly maxBytes: number
}

export interface Written {
  readonly save: SaveInfo
  readonly contents: Contents
  /** Removes old saves and updates the index. Resolves with the number of removed saves. */
  collect(): Promise<number>
}

/**
 * Writes and commits one save; `null`: the current save has the same content. While the disk is full, the oldest save
 * is removed and the save is tried again.
 */
export async function writeSave(options: SaveOptions, before: Contents): Promise<Written | null> {
  const { archive, clock, limits, read, onSerialized, holdsLock, onWritten, onSpaceFreed } = options
  let contents = before
  let content: SaveContent | undefined
  let isKnownToFit = false
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      const failure = asWriteError(error)
      const removable = contents.saves.filter(({ id }) => id !== contents.current?.id)
      const oldest = removable.at(-1)
      if (failure.code !== 'quota-exceeded' || !oldest || !content) throw failure
      expectLock()
      isKnownToFit ||= await wouldFitWithout(removable, content)
      if (!isKnownToFit) throw failure
      expectLock()
      await archive.remove([oldest.id])
      contents = { ...contents, saves: contents.saves.filter((save) => save !== oldest) }
      onSpaceFreed(1)
    }
  }

  /** Old saves are given up only for a save that then succeeds. */
  function wouldFitWithout(removable: readonly SaveInfo[], save: SaveContent): Promise<boolean> {
    const id = nextId(clock, contents)
    const freed = removable.reduce((sum, { bytes }) => sum + bytes, 0)
    return archive.hasSpace(id, fileSizeOf({ id, ...save }) - freed)
  }

  async function attempt(): Promise<Written | null> {
    const id = nextId(clock, contents)
    const index = contents.unlisted >= MAX_UNLISTED_SAVES
    // The files are opened while the state is serialized.
    const opening = archive.draft(id, { index })
    const discard = () => opening.then((draft) => draft.discard()).catch(() => {})
    try {
      content ??= serialize(read)
      onSerialized(content)
      if (await isSaved(archive, contents.current, content.checksum)) {
        await discard()
        return null
      }
      const save = { id, ...content }
      const { kept, dropped } = rotate([infoOf(save), ...contents.saves], limits)
      const draft = await opening
      await draft.write(save, kept)
      onWritten()
      await draft.commit(contents.named, expectLock)
      const unlisted = index ? 0 : contents.unlisted + 1
      return {
        save: infoOf(save),
        contents: { current: infoOf(save), named: id, saves: kept, incomplete: [], unlisted },
        collect: () => collect(draft, [...dropped.map((old) => old.id), ...abandoned(contents, kept)]),
      }
    } catch (error) {
      await discard()
      throw error
    }
  }

  async function collect(draft: Draft, ids: readonly string[]): Promise<number> {
    if (!holdsLock()) await draft.discard()
    expectLock()
    await Promise.all([draft.updateIndex(), archive.remove(ids)])
    return ids.length
  }

  function expectLock(): void {
    if (!holdsLock()) throw new AutoSaveError('lock-unavailable', 'the lock was lost during the save')
  }
}

/** Decides which saves are kept, of a list with the newest first. The newest always is. */
function rotate(saves: readonly SaveInfo[], { generations, maxBytes }: Limits) {
  let total = 0
  const fits = saves.map(({ bytes }, place) => {
    total += bytes
    return place === 0 || (place < generations && total <= maxBytes)
  })
  // Everything older than the first dropped save is dropped too, so that the history has no gaps.
  const kept = fits.includes(false) ? fits.indexOf(false) : saves.length
  return { kept: saves.slice(0, kept), dropped: saves.slice(kept) }
}

/**
 * Incomplete files that can be removed: a save that a crash ended before its commit, and files that are older than all
 * that is kept. Any other was a save once, and only its owner can say that it is useless.
 */
function abandoned({ incomplete, named, saves }: Contents, kept: readonly SaveInfo[]): string[] {
  const oldest = kept.at(-1)?.id ?? ''
  return incomplete.filter((id) => id < oldest || (named === null ? saves.length === 0 : id > named))
}

function infoOf({ id, checksum, bytes }: Save): SaveInfo {
  return { id, checksum, bytes }
}

/** Later than every existing save, even if the clock was set back. */
function nextId(clock: Clock, { saves, incomplete }: Contents): string {
  const times = [saves[0]?.id, ...incomplete].map((id) => timeOf(id ?? '') ?? 0)
  return new Date(Math.max(clock.now(), ...times.map((time) => time + 1))).toISOString()
}
