import * as v from 'valibot'
import type { BusMessage } from '../bus.ts'
import type { Entry } from './rosters.ts'

export const PRESENCE = 'presence'

/** What a node tells the others about its members; `seq` counts all that it has told, so that a gap shows. */
export type PresenceNews = { readonly node: string; readonly seq: number } & News

export type News =
  | { readonly kind: 'beat' | 'bye' }
  | { readonly kind: 'joined'; readonly entry: Entry }
  | { readonly kind: 'left'; readonly channel: string; readonly id: string }
  | { readonly kind: 'ask'; readonly of: string }
  | { readonly kind: 'roster'; readonly entries: Entry[]; readonly first: boolean; readonly last: boolean }

const json = v.custom<Entry[2]>((value) => value !== undefined)
const entry = v.strictTuple([v.string(), v.string(), json])
const sent = { node: v.string(), seq: v.number() }
const schema = v.variant('kind', [
  v.object({ ...sent, kind: v.picklist(['beat', 'bye']) }),
  v.object({ ...sent, kind: v.literal('joined'), entry }),
  v.object({ ...sent, kind: v.literal('left'), channel: v.string(), id: v.string() }),
  v.object({ ...sent, kind: v.literal('ask'), of: v.string() }),
  v.object({
    ...{ ...sent, kind: v.literal('roster'), entries: v.array(entry) },
    ...{ first: v.boolean(), last: v.boolean() },
  }),
])

/** `null` for what another version may have sent. */
export function parseNews({ data }: BusMessage): PresenceNews | null {
  const { success, output } = v.safeParse(schema, data)
  return success ? output : null
}
