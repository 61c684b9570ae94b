import * as v from 'valibot'
import { expectWhole } from '../base/arguments.ts'
import { LeaseError } from '../base/errors.ts'
import type { NatsConnection } from '../clients/nats.ts'
import { natsError } from '../clients/nats-errors.ts'
import type { AuditEntry } from '../protocol/index.ts'
import { Calls } from '../stores/local/calls.ts'
import type { Message } from '../stores/nats/bucket.ts'
import { type AuditLog, pageOf, parseEntry } from './audit.ts'
import { MAX_TRIES, type NatsPartsOptions, openBucket } from './nats.ts'

export interface NatsAuditOptions extends NatsPartsOptions {
  /** Older entries are overwritten. Default 10 000. */
  readonly maxEntries?: number
}

const auditSlot = v.object({ number: v.number(), entry: v.string() })
const AUDIT_HEAD = 'audit.head'
const READ_AT_ONCE = 100

/**
 * The audit trail in a bucket of NATS, one for all nodes. An entry takes the next number, and is stored in the place
 * of the entry that is `maxEntries` older. A number whose entry could not be stored is skipped.
 */
export function natsAudit(connection: NatsConnection, options: NatsAuditOptions = {}): AuditLog {
  const { maxEntries = 10_000, ...parts } = options
  expectWhole('maxEntries', maxEntries, 1)
  const bucket = openBucket(connection, parts)
  const calls = new Calls({ backend: 'NATS', explain: natsError })
  const slotOf = (number: number) => `audit.${number % maxEntries}`

  async function nextNumber(): Promise<number> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const head = await bucket.get(AUDIT_HEAD)
      const number = numberIn(head) + 1
      if ((await bucket.compareAndPut(AUDIT_HEAD, String(number), head?.revision ?? null)) !== null)
        return number
    }
    throw new LeaseError('store-unavailable', 'NATS: the audit trail keeps changing')
  }

  return {
    append: (entry) =>
      calls.run(async () => {
        const number = await nextNumber()
        await bucket.put(slotOf(number), JSON.stringify({ number, entry: JSON.stringify(entry) }))
      }),

    read: ({ limit, before = Infinity, resource }) =>
      calls.run(async () => {
        const head = numberIn(await bucket.get(AUDIT_HEAD))
        const oldest = Math.max(1, head - maxEntries + 1)
        const found: { readonly number: number; readonly entry: AuditEntry | null }[] = []
        for (
          let from = Math.min(head, before - 1);
          from >= oldest && found.length <= limit;
          from -= READ_AT_ONCE
        ) {
          const numbers = Array.from(
            { length: Math.min(READ_AT_ONCE, from - oldest + 1) },
            (_, n) => from - n,
          )
          const messages = await Promise.all(numbers.map((number) => bucket.get(slotOf(number))))
          for (const [n, number] of numbers.entries()) {
            const entry = entryIn(messages[n], number)
            if (entry === undefined) continue
            if (resource === undefined || entry?.resource === resource) found.push({ number, entry })
          }
        }
        return pageOf(found, limit)
      }),
  }
}

function numberIn(head: Message | null): number {
  if (!head || head.isMarker) return 0
  const number = Number(head.text)
  if (Number.isSafeInteger(number)) return number
  throw new LeaseError('store-failed', 'NATS: the number of the last audit entry cannot be read')
}

/** `undefined`: the slot has another entry, or none. `null`: it cannot be read. */
function entryIn(message: Message | null | undefined, number: number): AuditEntry | null | undefined {
  if (!message || message.isMarker) return undefined
  const slot = parseSlot(message.text)
  if (!slot) return null
  return slot.number === number ? parseEntry(slot.entry) : undefined
}

function parseSlot(text: string): v.InferOutput<typeof auditSlot> | null {
  try {
    const slot: unknown = JSON.parse(text)
    return v.is(auditSlot, slot) ? slot : null
  } catch {
    return null
  }
}
