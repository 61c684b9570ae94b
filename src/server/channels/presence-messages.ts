import * as v from 'valibot'
import type { BusMessage } from '../bus.ts'
import type { MemberEntry } from './rosters.ts'

export const PRESENCE = 'presence'

/** What a node sends to the others about its members. `seq` counts its messages, so that the others notice a gap. */
export type PresenceMessage = { readonly node: string; readonly seq: number } & PresenceContent

export type PresenceContent =
  | { readonly kind: 'beat' | 'bye' }
  | { readonly kind: 'joined'; readonly entry: MemberEntry }
  | { readonly kind: 'left'; readonly channel: string; readonly id: string }
  | { readonly kind: 'ask'; readonly of: string }
  | RosterPage

/** A roster is sent in pages, so that a page fits into a message of every bus. */
export interface RosterPage {
  readonly kind: 'roster'
  readonly entries: MemberEntry[]
  readonly first: boolean
  readonly last: boolean
}

const json = v.custom<MemberEntry[2]>((value) => value !== undefined)
const entry = v.strictTuple([v.string(), v.string(), json])
const envelope = { node: v.string(), seq: v.number() }
const schema = v.variant('kind', [
  v.object({ ...envelope, kind: v.picklist(['beat', 'bye']) }),
  v.object({ ...envelope, kind: v.literal('joined'), entry }),
  v.object({ ...envelope, kind: v.literal('left'), channel: v.string(), id: v.string() }),
  v.object({ ...envelope, kind: v.literal('ask'), of: v.string() }),
  v.object({
    ...envelope,
    kind: v.literal('roster'),
    entries: v.array(entry),
    first: v.boolean(),
    last: v.boolean(),
  }),
])

/** `null`: malformed, or a message of another version. */
export function parsePresence({ data }: BusMessage): PresenceMessage | null {
  const { success, output } = v.safeParse(schema, data)
  return success ? output : null
}
