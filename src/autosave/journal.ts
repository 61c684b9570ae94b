/**
 * The last edits of a page that goes away. A directory cannot be written to then: of twelve writes that began in
 * `pagehide` none was finished, while every one to `localStorage` was.
 */
import { decodeSave, encodeSave, type Save } from './save-file.ts'

/** Where journals are kept; every call ends before it returns. */
export interface Journal {
  /** Throws when there is no room. */
  write(key: string, text: string): void
  read(): readonly { readonly key: string; readonly text: string }[]
  remove(key: string): void
}

/** A state that was never saved. */
export interface JournaledSave extends Save {
  readonly key: string
  /** The save that it was made from. */
  readonly base: string | null
  /** Checksums of saves that the same page may have committed in its last moment. */
  readonly ours: readonly string[]
}

/** @param name sets the journals of several projects of one origin apart. */
export function localStorageJournal(name = 'project'): Journal {
  const prefix = `holdfast:autosave:${name}:`
  return {
    write: (key, text) => localStorage.setItem(prefix + key, text),
    read: () =>
      Object.keys(localStorage)
        .filter((item) => item.startsWith(prefix))
        .map((item) => ({ key: item.slice(prefix.length), text: localStorage.getItem(item) ?? '' })),
    remove: (key) => localStorage.removeItem(prefix + key),
  }
}

/** What is kept in the files must not suffer from a journal that cannot be read. Only `write` throws. */
export function forgivingJournal(journal: Journal, onFailure: (error: unknown) => void): Journal {
  return {
    write: (key, text) => journal.write(key, text),
    read: () => attempt(() => journal.read()) ?? [],
    remove: (key) => attempt(() => journal.remove(key)),
  }

  function attempt<T>(call: () => T): T | undefined {
    try {
      return call()
    } catch (error) {
      onFailure(error)
      return undefined
    }
  }
}

export interface JournalKeeper {
  /** Throws when there is no room. */
  keep(save: Save, from: Pick<JournaledSave, 'base' | 'ours'>): void
  /** The next save makes this one needless. */
  cover(key: string): void
  /** All is saved. */
  clear(): void
}

/** The journal of one page. */
export function createJournalKeeper(journal: Journal): JournalKeeper {
  const own = crypto.randomUUID()
  const covered = new Set<string>([own])
  return {
    keep: (save, { base, ours }) => writeJournal(journal, { ...save, base, ours, key: own }),
    cover: (key) => covered.add(key),
    clear() {
      for (const key of covered) journal.remove(key)
    },
  }
}

/** Keeps the state, at the cost of the oldest journals of others when there is no room. */
function writeJournal(journal: Journal, { key, base, ours, ...save }: JournaledSave): void {
  const text = `${[base ?? '', ...ours].join(' ')}\n${encodeSave(save)}`
  const oldestFirst = readJournals(journal)
    .filter((other) => other.key !== key)
    .reverse()
  for (let written = false; !written; ) {
    try {
      journal.write(key, text)
      written = true
    } catch (error) {
      const oldest = oldestFirst.shift()
      if (!oldest) throw error
      journal.remove(oldest.key)
    }
  }
}

/** Newest first; what is damaged is left out. */
export function readJournals(journal: Journal): JournaledSave[] {
  return journal
    .read()
    .flatMap(({ key, text }) => {
      const end = text.indexOf('\n')
      const save = decodeSave(text.slice(end + 1))
      const [base, ...ours] = text.slice(0, end).split(' ')
      return save ? { ...save, key, base: base || null, ours } : []
    })
    .toSorted((a, b) => (a.id < b.id ? 1 : -1))
}
