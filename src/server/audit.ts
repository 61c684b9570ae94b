import * as v from 'valibot'
import { expectWhole } from '../base/arguments.ts'
import { type AuditEntry, type AuditPage, auditEntry } from '../protocol/index.ts'
import { AUDIT_ENTRIES } from './options.ts'

/** Who locked, unlocked and took over which resource. It is limited in size: the oldest entries are deleted first. */
export interface AuditLog {
  append(entry: AuditEntry): Promise<void>
  /** Rejects if it cannot be read and written now. Leaves nothing behind. Absent: a `read` tells enough. */
  check?(): Promise<void>
  /** The newest first. */
  read(query: AuditQuery): Promise<AuditReading>
}

export interface AuditReading extends AuditPage {
  /** The numbers of entries that were skipped because they cannot be read. */
  readonly damaged?: readonly number[]
}

export interface AuditQuery {
  readonly limit: number
  /** The `next` of the previous page. */
  readonly before?: number | undefined
  readonly resource?: string | undefined
}

/**
 * An audit trail of this node only, which ends with the process.
 *
 * @example
 * const service = await createLockServer({ store, documents, audit: memoryAudit(1000) })
 */
export function memoryAudit(maxEntries = AUDIT_ENTRIES): AuditLog {
  expectWhole('maxEntries', maxEntries, 1)
  const entries: { readonly number: number; readonly entry: AuditEntry }[] = []
  let last = 0
  return {
    async append(entry) {
      entries.push({ number: ++last, entry })
      // Not with every entry, because it moves the whole array.
      if (entries.length > maxEntries * 1.1) entries.splice(0, entries.length - maxEntries)
    },
    async read({ limit, before = Infinity, resource }) {
      const found = entries
        .slice(-maxEntries)
        .filter(
          ({ number, entry }) => number < before && (resource === undefined || entry.resource === resource),
        )
        .slice(-limit - 1)
        .reverse()
      return pageOf(found, limit)
    },
  }
}

/** `null`: damaged, or written by another version. */
export function parseEntry(text: string): AuditEntry | null {
  try {
    const entry: unknown = JSON.parse(text)
    return v.is(auditEntry, entry) ? entry : null
  } catch {
    return null
  }
}

/** `found` has one row more than the limit if there is a next page. `null` is an entry that cannot be read. */
export function pageOf(
  found: readonly { readonly number: number; readonly entry: AuditEntry | null }[],
  limit: number,
): AuditReading {
  const page = found.slice(0, limit)
  const last = page.at(-1)
  const damaged = page.flatMap(({ number, entry }) => (entry ? [] : number))
  return {
    entries: page.flatMap(({ entry }) => entry ?? []),
    ...(last && found.length > limit && { next: last.number }),
    ...(damaged.length > 0 && { damaged }),
  }
}
