import { randomId } from '../../../src/base/random-id.ts'

const PREFIX = 'holdfast:unsaved:'
const WRITE_AFTER_MS = 250
/** This page's copies have its id in their keys. It holds a Web Lock of this name while it is open. */
const pageId = randomId()
let isAnnounced = false
/** For a browser whose storage is refused or full: it lasts as long as this page. */
const inMemory = new Map<string, string>()

/** A text that exists only in one page, and the version that it is based on. */
export interface UnsavedText {
  readonly text: string
  readonly base: number | null | 'unreadable'
}

/** Where a draft keeps its unsaved text outside of the page. */
export interface UnsavedCopy {
  /** The text that an earlier page left behind. */
  claim(): Promise<UnsavedText | null>
  /** `null`: everything is saved. */
  keep(unsaved: UnsavedText | null): void
  /** Writes at once: the page may be about to close. */
  flush(): void
}

/**
 * A copy in the browser of text that the server does not have. A tab that crashes or is closed leaves it behind, and
 * the next tab of this document shows it. Each page has its own copy, and takes only those of pages that are gone.
 */
export function createUnsavedCopy(roomId: string): UnsavedCopy {
  const key = keyOf(roomId)
  let pending: (() => void) | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    pending?.()
    pending = undefined
  }
  return {
    async claim() {
      announcePage()
      const open = await openPages()
      const pages = [pageId, ...pagesWithCopies(roomId).filter((page) => !open.has(page))]
      for (const page of pages) {
        const from = keyOf(roomId, page)
        const found = read(from)
        if (!found) continue
        if (page !== pageId && store(key, found)) remove(from)
        return found
      }
      return null
    },

    keep(unsaved) {
      pending = () => (unsaved ? store(key, unsaved) : remove(key))
      if (unsaved) timer ??= setTimeout(flush, WRITE_AFTER_MS)
      else flush()
    },

    flush,
  }
}

function keyOf(roomId: string, page = pageId): string {
  return PREFIX + JSON.stringify(roomId) + page
}

function announcePage(): void {
  if (isAnnounced) return
  isAnnounced = true
  navigator.locks?.request(PREFIX + pageId, () => new Promise(() => {})).catch(() => {})
}

/** The ids of the pages that are open now. Plain http has no Web Locks: every other page counts as gone there. */
async function openPages(): Promise<Set<string>> {
  const { held = [] } = (await navigator.locks?.query().catch(() => undefined)) ?? {}
  return new Set(held.map(({ name = '' }) => name.slice(PREFIX.length)))
}

function pagesWithCopies(roomId: string): string[] {
  const start = keyOf(roomId, '')
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(start))
    return keys.map((key) => key.slice(start.length))
  } catch {
    // Storage is refused.
    return []
  }
}

function read(key: string): UnsavedText | null {
  try {
    const { text, base } = Object(JSON.parse(inMemory.get(key) ?? localStorage.getItem(key) ?? ''))
    const isBase = base === null || base === 'unreadable' || typeof base === 'number'
    return typeof text === 'string' && isBase ? { text, base } : null
  } catch {
    // It is damaged. It stays where it is.
    return null
  }
}

/** False: it is in memory only. */
function store(key: string, unsaved: UnsavedText): boolean {
  const value = JSON.stringify(unsaved)
  try {
    localStorage.setItem(key, value)
    inMemory.delete(key)
    return true
  } catch {
    // The page still asks before it is closed.
    inMemory.set(key, value)
    return false
  }
}

function remove(key: string): void {
  inMemory.delete(key)
  try {
    localStorage.removeItem(key)
  } catch {
    // Storage is refused, so there is nothing to remove.
  }
}
