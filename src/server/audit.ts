import type { AuditEntry, AuditPage } from '../protocol/index.ts'

/** Who locked, unlocked and took over what, bounded in size: the oldest entries go first. */
export interface AuditLog {
  append(entry: AuditEntry): Promise<void>
  /** The newest first; `before` is the `next` of the page before. */
  read(query: AuditQuery): Promise<AuditReading>
}

export interface AuditReading extends AuditPage {
  /** Numbers of entries that were passed over, since they cannot be read. */
  readonly damaged?: readonly number[]
}

export interface AuditQuery {
  readonly limit: number
  readonly before?: number
  readonly resource?: string
}

/** Lasts as long as the process, and knows of this node alone. */
export function memoryAudit(maxEntries = 10_000): AuditLog {
  const entries: { readonly number: number; readonly entry: AuditEntry }[] = []
  let last = 0
  return {
    async append(entry) {
      entries.push({ number: ++last, entry })
      // In steps, since moving a long array costs.
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

/** Of one more row than was asked for, if there are more; `null` is an entry that cannot be read. */
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
