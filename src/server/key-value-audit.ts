import * as v from 'valibot'
import { expectWhole } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import type { AuditEntry } from '../protocol/index.ts'
import { limitConcurrency } from '../stores/local/limit-concurrency.ts'
import { type AuditLog, pageOf, parseEntry } from './audit.ts'
import { callsOf, type KeyValues, type StoredText } from './key-values.ts'
import { AUDIT_ENTRIES, AUDIT_ENTRIES_AT_ONCE, MAX_KEY_TRIES } from './options.ts'

const auditSlot = v.object({ number: v.number(), entry: v.string() })
const HEAD = 'audit.head'

/**
 * An entry takes the next number, and is stored in the place of the entry that is `maxEntries` older. A number whose
 * entry could not be stored is skipped.
 */
export function keyValueAudit(values: KeyValues, maxEntries = AUDIT_ENTRIES): AuditLog {
  expectWhole('maxEntries', maxEntries, 1)
  const calls = callsOf(values)
  // Entries of this node would only take the numbers from each other.
  const oneByOne = limitConcurrency(1)
  const slotOf = (number: number) => `audit.${number % maxEntries}`

  async function nextNumber(): Promise<number> {
    for (let tries = 0; tries < MAX_KEY_TRIES; tries++) {
      const head = await values.get(HEAD)
      const number = numberIn(head) + 1
      if (await values.compareAndPut(HEAD, String(number), head?.revision ?? null)) return number
    }
    throw new LeaseError('store-unavailable', `${values.backend}: the audit trail keeps changing`)
  }

  /** The last audit entry's number. */
  function numberIn(head: StoredText | null): number {
    const number = Number(head?.text ?? 0)
    if (Number.isSafeInteger(number)) return number
    throw new LeaseError(
      'store-failed',
      `${values.backend}: the number of the last audit entry cannot be read`,
    )
  }

  return {
    append: (entry) =>
      oneByOne(() =>
        calls.run(async () => {
          const number = await nextNumber()
          await values.put(slotOf(number), JSON.stringify({ number, entry: JSON.stringify(entry) }))
        }),
      ),

    read: ({ limit, before = Infinity, resource }) =>
      calls.run(async () => {
        const head = numberIn(await values.get(HEAD))
        const oldest = Math.max(1, head - maxEntries + 1)
        const found: { readonly number: number; readonly entry: AuditEntry | null }[] = []
        let from = Math.min(head, before - 1)
        for (; from >= oldest && found.length <= limit; from -= AUDIT_ENTRIES_AT_ONCE) {
          const count = Math.min(AUDIT_ENTRIES_AT_ONCE, from - oldest + 1)
          const numbers = Array.from({ length: count }, (_, n) => from - n)
          const slots = await Promise.all(numbers.map((number) => values.get(slotOf(number))))
          for (const [n, number] of numbers.entries()) {
            const entry = entryIn(slots[n], number)
            if (entry === undefined) continue
            if (resource === undefined || entry?.resource === resource) found.push({ number, entry })
          }
        }
        return pageOf(found, limit)
      }),
  }
}

/** `undefined`: the slot has another entry, or none. `null`: it cannot be read. */
function entryIn(stored: StoredText | null | undefined, number: number): AuditEntry | null | undefined {
  if (!stored) return undefined
  try {
    const slot: unknown = JSON.parse(stored.text)
    if (!v.is(auditSlot, slot)) return null
    return slot.number === number ? parseEntry(slot.entry) : undefined
  } catch {
    return null
  }
}
