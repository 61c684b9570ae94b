import type { Clock } from '../core/index.ts'
import type { Archive, Contents, Draft } from './archive.ts'
import { type Content, compose } from './compose.ts'
import { AutoSaveError, asWriteError } from './errors.ts'
import { type Limits, rotate } from './rotation.ts'
import { type Entry, type Save, timeOf } from './save-file.ts'

/** To write the index takes a tenth of a large save; to look at a few saves that it does not list takes less. */
const MAX_UNLISTED = 4

export interface Writing {
  readonly archive: Archive
  readonly clock: Clock
  readonly limits: Limits
  readonly read: () => unknown
  readonly onComposed: (content: Content) => void
  /** Asked right before the commit and before each removal. */
  readonly holdsLock: () => boolean
  readonly onWritten: () => void
  /** Old saves went early, to make room. */
  readonly onRoomMade: (removed: number) => void
}

export interface Written {
  readonly save: Entry
  readonly contents: Contents
  /** Removes what has to go, and brings the index up to date. Resolves with how many saves went. */
  collect(): Promise<number>
}

/**
 * Writes and commits one save; `null` when the current one is the same. While the disk is full, the oldest saves make
 * room for it.
 */
export async function writeSave(writing: Writing, before: Contents): Promise<Written | null> {
  const { archive, clock, limits, read, onComposed, holdsLock, onWritten, onRoomMade } = writing
  let contents = before
  let content: Content | undefined
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      const failure = asWriteError(error)
      const oldest = contents.entries.at(-1)
      if (failure.code !== 'quota-exceeded' || !oldest || oldest.id === contents.current?.id) throw failure
      expectLock()
      await archive.remove([oldest.id])
      contents = { ...contents, entries: contents.entries.slice(0, -1) }
      onRoomMade(1)
    }
  }

  async function attempt(): Promise<Written | null> {
    const id = nextId(clock, contents)
    // Goes on while the state is put into text.
    const index = contents.unlisted >= MAX_UNLISTED
    const opening = archive.draft(id, { index })
    const discard = () => opening.then((draft) => draft.discard()).catch(() => {})
    try {
      content ??= compose(read)
      onComposed(content)
      if (content.checksum === contents.current?.checksum) {
        await discard()
        return null
      }
      const save = { id, ...content }
      const { kept, dropped } = rotate([entryOf(save), ...contents.entries], limits)
      const draft = await opening
      await draft.write(save, kept)
      onWritten()
      expectLock()
      await draft.commit()
      const unlisted = index ? 0 : contents.unlisted + 1
      return {
        save: entryOf(save),
        contents: { current: entryOf(save), entries: kept, debris: [], unlisted },
        collect: () => collect(draft, [...dropped.map((entry) => entry.id), ...contents.debris]),
      }
    } catch (error) {
      await discard()
      throw error
    }
  }

  async function collect(draft: Draft, ids: readonly string[]): Promise<number> {
    if (!holdsLock()) await draft.discard()
    expectLock()
    await Promise.all([draft.settle(), archive.remove(ids)])
    return ids.length
  }

  function expectLock(): void {
    if (!holdsLock()) throw new AutoSaveError('lock-unavailable', 'the lock was lost during the save')
  }
}

function entryOf({ id, checksum, bytes }: Save) {
  return { id, checksum, bytes }
}

/** Later than every save there is, even if the clock was set back. */
function nextId(clock: Clock, { entries, debris }: Contents): string {
  const times = [entries[0]?.id, ...debris].map((id) => timeOf(id ?? '') ?? 0)
  return new Date(Math.max(clock.now(), ...times.map((time) => time + 1))).toISOString()
}
