import { randomId } from '../../base/random-id.ts'
import { type CopyArchive, copyArchive } from './copy-indexeddb.ts'
import { type CopyJournal, copyJournal } from './copy-local-storage.ts'
import type { CopyRecord, Unsaved } from './copy-record.ts'
import { alone, announcePage, endOfPage, openPages } from './open-pages.ts'
import { SHORT_CHARACTERS, WRITE_AFTER_MS } from './options.ts'

/** Where a draft keeps its unsaved content outside of the page. */
export interface CopyPort {
  /**
   * Offers what this page, or pages that are gone, have left behind, until something is accepted: that belongs to this
   * copy from then on. `onLeft`: a page that is open now has ended, and may have left something behind as well.
   */
  claim(accept: (unsaved: Unsaved) => boolean, onLeft: () => void): Promise<void>
  /** `null`: everything is saved. The function is called when the copy is written. */
  keep(unsaved: (() => Unsaved) | null): void
  /** Writes at once: the page may be about to close. */
  flush(): void
}

/** This page's copies have its id in their keys. */
const pageId = randomId()
/** The copies of this page: also where storage is refused or full, and before the browser has written them. */
const inPage = new Map<string, CopyRecord>()
/** Of several drafts of one document, the latest one writes. */
const writers = new Map<string, UnsavedCopy>()
let latestAt = 0

/**
 * A copy in the browser of content that the server does not have. A tab that crashes or is closed leaves it behind, and
 * the next tab of this document takes it. Each page has its own copies, and takes only those of pages that are gone.
 *
 * Short content goes into the journal (`localStorage`), which is synchronous. Long content goes into the archive
 * (IndexedDB), and into the journal when the page is closed. Of two copies of one page the later one counts.
 */
export class UnsavedCopy implements CopyPort {
  readonly #documentKey: string
  readonly #journal: CopyJournal
  readonly #archive: CopyArchive
  #pending: (() => Unsaved) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isShort = true
  #isArchived = false
  readonly #awaited = new Set<string>()

  constructor(documentKey: string) {
    this.#documentKey = documentKey
    this.#journal = copyJournal(documentKey)
    this.#archive = copyArchive(documentKey)
  }

  async claim(accept: (unsaved: Unsaved) => boolean, onLeft: () => void): Promise<void> {
    const key = this.#documentKey
    announcePage(pageId)
    writers.set(key, this)
    const own = inPage.get(key)?.unsaved
    if (own && accept(own)) return
    await alone(async () => {
      const open = await openPages()
      const all = [...this.#journal.read(), ...(await this.#archive.read())]
      const left = all.filter(({ page }) => !open.has(page))
      // Also a page that is being reloaded counts as open for a moment.
      for (const { page } of all) if (open.has(page)) this.#awaitEnd(page, onLeft)
      for (const { page, unsaved } of latestOfPages(left)) {
        if (writers.get(key) !== this) return
        if (unsaved && !accept(unsaved)) continue
        // It becomes this page's own before the other one is removed.
        if (!unsaved || (await this.#write(this.#recordOf(unsaved)))) await this.#remove(page)
        if (unsaved) return
      }
    })
  }

  keep(unsaved: (() => Unsaved) | null): void {
    if (writers.get(this.#documentKey) !== this) return
    this.#pending = unsaved ?? undefined
    if (!unsaved) this.#clear()
    else if (this.#isShort) this.flush()
    else this.#timer ??= setTimeout(() => void this.#archiveNow(), WRITE_AFTER_MS)
  }

  flush(): void {
    const record = this.#pendingRecord()
    if (!record) return
    const length = this.#journal.write(record)
    this.#isShort = length !== null && length <= SHORT_CHARACTERS
    if (this.#isShort) this.#pending = undefined
    else void this.#archiveNow()
  }

  async #archiveNow(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const written = this.#pending
    const record = this.#pendingRecord()
    if (!record) return
    this.#isArchived = true
    const { content } = record.unsaved
    this.#isShort = typeof content === 'string' && content.length < SHORT_CHARACTERS / 2
    if (!(await this.#archive.write(record))) {
      // If nothing newer was kept or saved since, it may still fit into the journal.
      if (inPage.get(this.#documentKey) === record) this.#journal.write(record)
      return
    }
    this.#journal.remove(pageId, record.at)
    if (this.#pending === written) this.#pending = undefined
  }

  async #write(record: CopyRecord): Promise<boolean> {
    if (this.#journal.write(record) !== null) return true
    this.#isArchived = true
    return this.#archive.write(record)
  }

  #clear(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (!inPage.delete(this.#documentKey)) return
    if (!this.#isArchived) {
      this.#journal.remove(pageId)
      return
    }
    this.#isArchived = false
    // The archive takes a while, and the page may be closed before it is done.
    const at = nextAt()
    this.#journal.write({ page: pageId, at, unsaved: null })
    void this.#archive.remove(pageId).then(() => this.#journal.remove(pageId, at))
  }

  #awaitEnd(page: string, onLeft: () => void): void {
    if (page === pageId || this.#awaited.has(page)) return
    this.#awaited.add(page)
    const ended = () => {
      this.#awaited.delete(page)
      if (writers.get(this.#documentKey) === this) onLeft()
    }
    endOfPage(page).then(ended, () => {})
  }

  async #remove(page: string): Promise<void> {
    this.#journal.remove(page)
    await this.#archive.remove(page)
  }

  /** `null`: nothing is to be kept, or it cannot be encoded. */
  #pendingRecord() {
    try {
      return this.#pending ? this.#recordOf(this.#pending()) : null
    } catch {
      // The save fails for the same reason, and the draft says so.
      return null
    }
  }

  #recordOf(unsaved: Unsaved) {
    const record = { page: pageId, at: nextAt(), unsaved }
    inPage.set(this.#documentKey, record)
    return record
  }
}

/** Rises, also within a millisecond. */
function nextAt(): number {
  latestAt = Math.max(latestAt + 1, Date.now())
  return latestAt
}

/** Of each page the latest copy. The oldest of them comes first. */
function latestOfPages(records: readonly CopyRecord[]): CopyRecord[] {
  const inOrder = records.toSorted((a, b) => a.at - b.at)
  return [...new Map(inOrder.map((record) => [record.page, record])).values()].sort((a, b) => a.at - b.at)
}
