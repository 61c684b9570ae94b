/**
 * The journal keeps the last edits of a page that is being closed. The directory cannot be written at that time: of
 * twelve writes that began in `pagehide` none was completed, while every write to `localStorage` was.
 */
import type { Clock } from '../base/clock.ts'
import { randomId } from '../base/random-id.ts'
import type { EditTracker } from './edit-tracker.ts'
import { AutoSaveError } from './errors.ts'
import { decodeSave, encodeSave, type Save, type SaveInfo, serialize } from './save-file.ts'

/** Storage for journals. Every call is synchronous. */
export interface Journal {
  /** Throws a `QuotaExceededError` if there is no space. */
  write(key: string, text: string): void
  read(): readonly { readonly key: string; readonly text: string }[]
  remove(key: string): void
}

/** A state that was never saved in the directory. */
export interface JournaledSave extends Save {
  readonly key: string
  /** The id of the save that the state is based on. */
  readonly base: string | null
  /** Checksums of saves that the same page may have committed while it was being closed. */
  readonly ownChecksums: readonly string[]
}

/**
 * @param name separates the journals of several projects of one origin. Default of AutoSave: the locks' namespace.
 *
 * @example
 * createAutoSave({ read, namespace: 'notes', journal: localStorageJournal('notes') })
 */
export function localStorageJournal(name = 'project'): Journal {
  const prefix = `holdfast:autosave:${encodeURIComponent(name)}:`
  return {
    write: (key, text) => localStorage.setItem(prefix + key, text),
    read: () =>
      Object.keys(localStorage)
        .filter((item) => item.startsWith(prefix))
        .map((item) => ({ key: item.slice(prefix.length), text: localStorage.getItem(item) ?? '' })),
    remove: (key) => localStorage.removeItem(prefix + key),
  }
}

export interface PageJournalOptions {
  readonly journal: Journal | false
  readonly clock: Clock
  readonly read: () => unknown
  readonly tracker: Pick<EditTracker, 'isUnsaved' | 'base' | 'ownChecksums'>
  readonly onWritten: (bytes: number) => void
  readonly onError: (error: AutoSaveError) => void
}

/** The journal of one page, and read access to those of the other pages. */
export interface PageJournal {
  /** Writes the state if it has unsaved edits. */
  write(): void
  /** The next complete save also replaces this journal of another page. */
  include(save: JournaledSave): void
  /** Everything is saved. */
  clear(): void
  /** The journals of the other pages, newest first. Damaged journals are skipped. */
  readOthers(): JournaledSave[]
  /** Removes a journal of another page, unless that page has written it again. */
  remove(save: JournaledSave): void
  /** The journals that the last search found, until the user has chosen a version. */
  readonly news: readonly string[]
  /** Searches for edits that continue the current save, and that other pages left since this page was opened. */
  searchNews(current: SaveInfo | null): void
  /** The user has chosen a version, and could have chosen these. */
  dismiss(offered: readonly string[]): void
}

/** Reports errors instead of throwing them, so that they do not disturb the saves in the directory. */
export function createPageJournal(options: PageJournalOptions): PageJournal {
  const { journal, clock, read, tracker, onWritten, onError } = options
  const own = randomId()
  const included = new Set<string>()
  const dismissed = new Set(readOthers().map(versionOf))
  let news: readonly string[] = []

  return {
    write() {
      if (journal && tracker.isUnsaved) attempt(() => writeState(journal))
    },
    include: (save) => included.add(versionOf(save)),
    clear() {
      removeKey(own)
      if (included.size > 0) removeOthers((version) => included.delete(version))
    },
    readOthers,
    remove: (save) => removeOthers((version) => version === versionOf(save)),
    get news() {
      return news
    },
    searchNews(current) {
      const unsaved = readOthers().filter((other) => isUnsaved(other, current))
      news = unsaved.map(versionOf).filter((version) => !dismissed.has(version))
    },
    dismiss(offered) {
      for (const version of offered) dismissed.add(version)
      news = news.filter((version) => !dismissed.has(version))
    },
  }

  function writeState(storage: Journal): void {
    const { base, ownChecksums } = tracker
    const save = { id: new Date(clock.now()).toISOString(), ...serialize(read) }
    writeText(storage, encode({ ...save, base, ownChecksums }))
    onWritten(save.bytes)
  }

  /** If there is no space, the oldest journals of other pages are removed, unless even that is not enough. */
  function writeText(storage: Journal, text: string): void {
    const others = readOthers()
    const removed: JournaledSave[] = []
    for (;;)
      try {
        storage.write(own, text)
        return
      } catch (error) {
        const oldest = isFull(error) ? others.pop() : undefined
        if (!oldest) {
          for (const other of removed.reverse()) attempt(() => storage.write(other.key, encode(other)))
          throw error
        }
        storage.remove(oldest.key)
        removed.push(oldest)
      }
  }

  function readOthers(): JournaledSave[] {
    const found = (journal && attempt(() => journal.read())) || []
    const others = found.filter(({ key }) => key !== own).flatMap(decode)
    return others.toSorted((a, b) => (a.id < b.id ? 1 : -1))
  }

  function removeOthers(isMeant: (version: string) => boolean): void {
    for (const other of readOthers()) if (isMeant(versionOf(other))) removeKey(other.key)
  }

  function removeKey(key: string): void {
    if (journal) attempt(() => journal.remove(key))
  }

  function attempt<R>(call: () => R): R | undefined {
    try {
      return call()
    } catch (error) {
      onError(new AutoSaveError('journal-failed', 'the journal cannot be read or written', error))
      return undefined
    }
  }
}

/** Firefox has its own name for the error. */
function isFull(error: unknown): boolean {
  return /quota/i.test((error as Error | undefined)?.name ?? '')
}

/** Whether the state of a journal is based on the current save. */
export function continues({ base, ownChecksums }: JournaledSave, current: SaveInfo | null): boolean {
  return base === (current?.id ?? null) || ownChecksums.includes(current?.checksum ?? '')
}

/** Whether it has edits of its own on top of the current save. */
function isUnsaved(save: JournaledSave, current: SaveInfo | null): boolean {
  return continues(save, current) && save.checksum !== current?.checksum
}

/** A page may write its journal again, so the key alone does not say what is in it. */
function versionOf({ key, checksum }: JournaledSave): string {
  return `${key} ${checksum}`
}

function encode({ base, ownChecksums, ...save }: Omit<JournaledSave, 'key'>): string {
  return `${[base ?? '', ...ownChecksums].join(' ')}\n${encodeSave(save)}`
}

function decode({ key, text }: { readonly key: string; readonly text: string }): JournaledSave[] {
  const end = text.indexOf('\n')
  const save = decodeSave(text.slice(end + 1))
  const [base, ...ownChecksums] = text.slice(0, end).split(' ')
  return save ? [{ ...save, key, base: base || null, ownChecksums }] : []
}
