import { type Archive, isSaved } from './archive.ts'
import { AutoSaveError, orLoadError } from './errors.ts'
import { continues, type JournaledSave, type PageJournal } from './journal.ts'
import { type Save, type SaveInfo, timeOf } from './save-file.ts'
import type { Generation, Recoverable, Recovery, SkippedSave } from './types.ts'

export interface RecoveryOptions {
  /** How many to find. */
  readonly limit: number
  /** A save is being loaded; `current` is the id of the save that was current when it was listed. */
  readonly onLoad: (loaded: Candidate, current: string | null) => void
}

/** A save that may be recoverable. */
export type Candidate =
  | { readonly source: 'journal'; readonly save: JournaledSave }
  | { readonly source: 'current' | 'history'; readonly save: SaveInfo }

/**
 * The saves that can be verified, best first. A journal comes before the current save only if it is based on that
 * save. Otherwise another tab has saved since then, and its save is better.
 */
export async function findRecoverable<T>(
  archive: Archive,
  journal: PageJournal | false,
  { limit, onLoad }: RecoveryOptions,
): Promise<Recovery<T>> {
  const { current, named, saves, incomplete } = await archive.scan()
  const currentId = current?.id ?? null
  const candidates = [
    ...(journal ? await unsavedJournals(archive, journal, current) : []).map(
      (save): Candidate => ({ source: 'journal', save }),
    ),
    ...saves.map((save): Candidate => ({ source: save.id === currentId ? 'current' : 'history', save })),
  ].sort((a, b) => rankOf(a, current) - rankOf(b, current) || (a.save.id < b.save.id ? 1 : -1))
  const recoverable: Recoverable<T>[] = []
  const skipped: SkippedSave[] = []
  const skip = (id: string, reason: SkippedSave['reason']) =>
    skipped.push({ id, savedAt: timeOf(id) ?? 0, reason })
  // What a crash leaves is newer than the current save, and was never a save.
  for (const id of incomplete) if (id <= (named ?? '')) skip(id, 'damaged')
  if (named && ![...saves.map(({ id }) => id), ...incomplete].includes(named)) skip(named, 'missing')
  let failure: unknown
  for (const candidate of candidates) {
    if (recoverable.length >= limit) break
    const { source, save } = candidate
    const { id, bytes } = save
    const verified = await read(archive, candidate).catch((error: unknown) => {
      failure = error
    })
    if (!verified) {
      skip(id, verified === null ? 'damaged' : 'unreadable')
      continue
    }
    recoverable.push({
      ...{ id, source, savedAt: timeOf(id) ?? 0, bytes },
      read: () => readState(candidate),
      async load() {
        const state = await readState(candidate)
        onLoad(candidate, currentId)
        return state
      },
    })
  }
  // "Nothing was saved" and "nothing could be read" are different answers.
  if (failure && recoverable.length === 0) throw failure
  skipped.sort((a, b) => (a.id < b.id ? 1 : -1))
  return Object.assign(recoverable, { skipped })

  async function readState(candidate: Candidate): Promise<T> {
    const { id } = candidate.save
    const save = await orLoadError(read(archive, candidate))
    if (!save) throw new AutoSaveError('corrupt', `the save of ${id} is missing or damaged`)
    return parse<T>(save)
  }
}

function rankOf(candidate: Candidate, current: SaveInfo | null): number {
  if (candidate.source !== 'journal') return candidate.source === 'current' ? 1 : 2
  return continues(candidate.save, current) ? 0 : 2
}

/** Removes journals whose edits were saved after all. */
async function unsavedJournals(
  archive: Archive,
  journal: PageJournal,
  current: SaveInfo | null,
): Promise<JournaledSave[]> {
  const unsaved: JournaledSave[] = []
  for (const found of journal.readOthers())
    if (await isSaved(archive, current, found.checksum)) journal.remove(found)
    else unsaved.push(found)
  return unsaved
}

async function read(archive: Archive, { source, save }: Candidate): Promise<Save | null> {
  return source === 'journal' ? save : archive.load(save.id)
}

function parse<T>({ id, text }: Save): T {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new AutoSaveError('corrupt', `the save of ${id} is not JSON`, error)
  }
}

export async function listGenerations(archive: Archive): Promise<Generation[]> {
  const { current, saves } = await archive.scan()
  return saves.map(({ id, bytes }) => ({ id, savedAt: timeOf(id) ?? 0, bytes, current: id === current?.id }))
}
