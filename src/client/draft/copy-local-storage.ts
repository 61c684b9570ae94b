import { type CopyRecord, isCopyRecord } from './copy-record.ts'

const PREFIX = 'holdfast:unsaved:'

/** Copies in `localStorage`, which is synchronous and small. Where it is refused or full, nothing is written. */
export interface CopyJournal {
  /** The copies of all pages. Damaged ones are left out, and stay. */
  read(): CopyRecord[]
  /** The number of characters; `null`: there is no space, or storage is refused. */
  write(record: CopyRecord): number | null
  /** Removes the copy of a page, unless it is later than `until`. */
  remove(page: string, until?: number): void
}

export function copyJournal(documentKey: string): CopyJournal {
  const start = PREFIX + JSON.stringify(documentKey)
  return {
    read: () =>
      attempt(() =>
        Object.keys(localStorage)
          .filter((key) => key.startsWith(start))
          .flatMap((key) => decode(key.slice(start.length), localStorage.getItem(key))),
      ) ?? [],

    write({ page, ...rest }) {
      const text = JSON.stringify(rest)
      return attempt(() => localStorage.setItem(start + page, text)) === null ? null : text.length
    },

    remove(page, until = Infinity) {
      attempt(() => {
        const [found] = decode(page, localStorage.getItem(start + page))
        if (found && found.at <= until) localStorage.removeItem(start + page)
      })
    },
  }
}

function decode(page: string, text: string | null): CopyRecord[] {
  try {
    const record = { ...JSON.parse(text ?? ''), page }
    return isCopyRecord(record) ? [record] : []
  } catch {
    // It is damaged.
    return []
  }
}

/** `null`: storage is refused or full. */
function attempt<R>(call: () => R): R | null {
  try {
    return call()
  } catch {
    return null
  }
}
