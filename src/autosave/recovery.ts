import type { Archive } from './archive.ts'
import { AutoSaveError } from './errors.ts'
import { type Journal, type JournaledSave, readJournals } from './journal.ts'
import { type Entry, type Save, timeOf } from './save-file.ts'
import type { Recoverable } from './types.ts'

export interface Recovery {
  /** How many to find. */
  readonly limit: number
  /** Something is being loaded; `base` is the save that counted when it was listed. */
  readonly onLoad: (found: Found, base: string | null) => void
}

export type Found = { readonly source: Recoverable<unknown>['source']; readonly entry: Entry } & (
  | { readonly source: 'journal'; readonly entry: JournaledSave }
  | { readonly source: 'current' | 'history' }
)

/**
 * What proves itself, best first. Edits from a journal come before the current save only when they were made from
 * it: otherwise somebody has saved since, and theirs is what counts.
 */
export async function findRecoverable<T>(
  archive: Archive,
  journal: Journal | false,
  { limit, onLoad }: Recovery,
): Promise<Recoverable<T>[]> {
  const { current, entries } = await archive.look()
  const base = current?.id ?? null
  const journaled: Found[] = journalsBeyond(journal, current).map((entry) => ({ source: 'journal', entry }))
  const saved = entries.map((entry): Found => ({ source: entry.id === base ? 'current' : 'history', entry }))
  const isBest = (found: Found) =>
    found.source === 'journal' &&
    (found.entry.base === base || found.entry.ours.includes(current?.checksum ?? ''))
  const rank = (found: Found) => (isBest(found) ? 0 : found.source === 'current' ? 1 : 2)
  const candidates = [...journaled, ...saved].sort(
    (a, b) => rank(a) - rank(b) || (a.entry.id < b.entry.id ? 1 : -1),
  )
  const recoverable: Recoverable<T>[] = []
  let failure: unknown
  for (const found of candidates) {
    if (recoverable.length >= limit) break
    const save = await readSave(archive, found).catch((error: unknown) => {
      failure = error
    })
    if (!save) continue
    const { id, bytes } = found.entry
    recoverable.push({
      ...{ id, bytes, source: found.source, savedAt: timeOf(id) ?? 0 },
      async load() {
        const save = await readSave(archive, found)
        if (!save) throw new AutoSaveError('corrupt', `the save of ${id} is gone or damaged`)
        const state = JSON.parse(save.text)
        onLoad(found, base)
        return state
      },
    })
  }
  // To find nothing is another thing than to be unable to look.
  if (failure && recoverable.length === 0) throw failure
  return recoverable
}

/** Journals whose edits were saved after all are of no use any more. */
function journalsBeyond(journal: Journal | false, current: Entry | null): JournaledSave[] {
  if (!journal) return []
  return readJournals(journal).filter(({ key, checksum }) => {
    if (checksum !== current?.checksum) return true
    journal.remove(key)
    return false
  })
}

async function readSave(archive: Archive, { source, entry }: Found): Promise<Save | null> {
  return source === 'journal' ? (entry as JournaledSave) : archive.load(entry.id)
}
