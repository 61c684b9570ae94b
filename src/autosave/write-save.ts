import type { Clock } from '../core/index.ts'
import type { Archive, Contents } from './archive.ts'
import type { Content } from './compose.ts'
import { AutoSaveError, asWriteError, quotaExceeded } from './errors.ts'
import { type Limits, rotate } from './rotation.ts'
import { type Save, timeOf } from './save-file.ts'

export interface Writing {
  readonly archive: Archive
  readonly clock: Clock
  readonly limits: Limits
  /** Asked right before the commit. */
  readonly mayCommit: () => boolean
  readonly onWritten: () => void
  /** Old saves went early, to make room. */
  readonly onRoomMade: (removed: number) => void
}

export interface Written {
  readonly save: Save
  readonly contents: Contents
  /** Removes what has to go, and brings the index up to date. Resolves with how many saves went. */
  collect(): Promise<number>
}

/** Writes and commits one save. While the disk is full, the oldest saves make room for it. */
export async function writeSave(writing: Writing, content: Content, before: Contents): Promise<Written> {
  const { archive, clock, limits, mayCommit, onWritten, onRoomMade } = writing
  let contents = before
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      const failure = (await isFull(error, content)) ? quotaExceeded(error) : asWriteError(error)
      const oldest = contents.entries.at(-1)
      if (failure.code !== 'quota-exceeded' || !oldest || oldest.id === contents.current?.id) throw failure
      await archive.remove([oldest.id])
      contents = { ...contents, entries: contents.entries.slice(0, -1) }
      onRoomMade(1)
    }
  }

  async function attempt(): Promise<Written> {
    const save: Save = { id: nextId(clock, contents), ...content }
    const { kept, dropped } = rotate([entryOf(save), ...contents.entries], limits)
    const draft = await archive.draft(save.id)
    try {
      await draft.write(save, kept)
      onWritten()
      if (!mayCommit())
        throw new AutoSaveError('lock-unavailable', 'the lock was lost before the save was committed')
      await draft.commit()
    } catch (error) {
      await draft.discard().catch(() => {})
      throw error
    }
    return {
      save,
      contents: { current: entryOf(save), entries: kept, debris: [] },
      async collect() {
        const goes = [...dropped.map(({ id }) => id), ...contents.debris]
        await Promise.all([draft.settle(), archive.remove(goes)])
        return goes.length
      },
    }
  }
}

/** Chromium may break off a long write that exceeds the quota without a word about the quota. */
async function isFull(error: unknown, { bytes }: Content): Promise<boolean> {
  if ((error as Error | undefined)?.name !== 'AbortError' || typeof navigator === 'undefined') return false
  const { quota = Infinity, usage = 0 } = (await navigator.storage?.estimate()) ?? {}
  return quota - usage < bytes
}

function entryOf({ id, checksum, bytes }: Save) {
  return { id, checksum, bytes }
}

/** Later than every save there is, even if the clock was set back. */
function nextId(clock: Clock, { entries, debris }: Contents): string {
  const times = [entries[0]?.id, ...debris].map((id) => timeOf(id ?? '') ?? 0)
  return new Date(Math.max(clock.now(), ...times.map((time) => time + 1))).toISOString()
}
