import { randomId } from '../../base/random-id.ts'
import { copyArchive } from './copy-archive.ts'
import { copyJournal } from './copy-journal.ts'
import type { CopyRecord, Unsaved } from './copy-record.ts'
import { alone, announcePage, openPages } from './open-pages.ts'

/** Where a draft keeps its unsaved content outside of the page. */
export interface UnsavedCopy {
  /**
   * Offers what this page, or pages that are gone, have left behind, until something is accepted: that belongs to this
   * copy from then on.
   */
  claim(accept: (unsaved: Unsaved) => boolean): Promise<void>
  /** `null`: everything is saved. The function is called when the copy is written. */
  keep(unsaved: (() => Unsaved) | null): void
  /** Writes at once: the page may be about to close. */
  flush(): void
}

/** Up to this many characters are written with every key, more of them after a pause. */
const SHORT = 20_000
const WRITE_AFTER_MS = 250
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
export function createUnsavedCopy(documentKey: string): UnsavedCopy {
  const journal = copyJournal(documentKey)
  const archive = copyArchive(documentKey)
  let pending: (() => Unsaved) | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let isShort = true
  let isArchived = false

  const copy: UnsavedCopy = {
    async claim(accept) {
      announcePage(pageId)
      writers.set(documentKey, copy)
      const own = inPage.get(documentKey)?.unsaved
      if (own && accept(own)) return
      await alone(async () => {
        const open = await openPages()
        const left = [...journal.read(), ...(await archive.read())].filter(({ page }) => !open.has(page))
        for (const { page, unsaved } of latestOfPages(left)) {
          if (writers.get(documentKey) !== copy) return
          if (unsaved && !accept(unsaved)) continue
          // It becomes this page's own before the other one is removed.
          if (!unsaved || (await write(recordOf(unsaved)))) await remove(page)
          if (unsaved) return
        }
      })
    },

    keep(unsaved) {
      if (writers.get(documentKey) !== copy) return
      pending = unsaved ?? undefined
      if (!unsaved) clear()
      else if (isShort) flush()
      else timer ??= setTimeout(archiveNow, WRITE_AFTER_MS)
    },

    flush,
  }
  return copy

  function flush(): void {
    const record = pendingRecord()
    if (!record) return
    const length = journal.write(record)
    isShort = length !== null && length <= SHORT
    if (isShort) pending = undefined
    else void archiveNow()
  }

  async function archiveNow(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const written = pending
    const record = pendingRecord()
    if (!record) return
    isArchived = true
    const { content } = record.unsaved
    isShort = typeof content === 'string' && content.length < SHORT / 2
    if (!(await archive.write(record))) {
      // If nothing newer was kept or saved since, it may still fit into the journal.
      if (inPage.get(documentKey) === record) journal.write(record)
      return
    }
    journal.remove(pageId, record.at)
    if (pending === written) pending = undefined
  }

  async function write(record: CopyRecord): Promise<boolean> {
    if (journal.write(record) !== null) return true
    isArchived = true
    return archive.write(record)
  }

  function clear(): void {
    clearTimeout(timer)
    timer = undefined
    if (!inPage.delete(documentKey)) return
    if (!isArchived) {
      journal.remove(pageId)
      return
    }
    isArchived = false
    // The archive takes a while, and the page may be closed before it is done.
    const at = nextAt()
    journal.write({ page: pageId, at, unsaved: null })
    void archive.remove(pageId).then(() => journal.remove(pageId, at))
  }

  async function remove(page: string): Promise<void> {
    journal.remove(page)
    await archive.remove(page)
  }

  /** `null`: nothing is to be kept, or it cannot be encoded. */
  function pendingRecord() {
    try {
      return pending ? recordOf(pending()) : null
    } catch {
      // The save fails for the same reason, and the draft says so.
      return null
    }
  }

  function recordOf(unsaved: Unsaved) {
    const record = { page: pageId, at: nextAt(), unsaved }
    inPage.set(documentKey, record)
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
