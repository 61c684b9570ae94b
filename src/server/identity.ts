import type { Settings } from '../configuration/settings.ts'

/** Who calls. */
export interface Identity {
  /** Known to the server and the caller alone: whoever shows it is the holder of what it has locked. */
  readonly id: string
  /** What others see of it: `session_id`, and the owner of its leases. */
  readonly publicId: string
  /** Shown to others beside a lock. */
  readonly name?: string
  /** `lease` and `admin` are callers with a token of the settings, who may use the lease API; `admin` may do all. */
  readonly role: 'session' | 'lease' | 'admin'
}

/** What `identify` of yours says of a request: at the least an id that stays the same for a user or a session. */
export interface Caller {
  readonly id: string
  readonly name?: string
  /** Default `session`. */
  readonly role?: Identity['role']
}

export type Identify = (request: Request) => Caller | null | Promise<Caller | null>

export type Action =
  /** See a lock, a content, and what happens in a room. */
  | 'read'
  /** Lock, beat, unlock, ask for a hand-over. */
  | 'lock'
  | 'save'
  | 'takeover'
  /** The lease API. */
  | 'lease'
  /** Every lease and the figures of the service. */
  | 'observe'
  /** Force a release, read the audit trail. */
  | 'admin'

/** `resource`: the room, or for `lease` the resource; empty where the action is about all. */
export type Authorize = (identity: Identity, action: Action, resource: string) => boolean | Promise<boolean>

/** Leases of documents have names of their own, so that the lease API and the rooms share one store. */
const ROOM_PREFIX = 'document:'

export function roomResource(room: string): string {
  return ROOM_PREFIX + room
}

/** The room that a lease is about; `null` for any other lease. */
export function roomOf(resource: string): string | null {
  return resource.startsWith(ROOM_PREFIX) ? resource.slice(ROOM_PREFIX.length) : null
}

/** Sessions may use documents; the lease API, observing and administration need a token. */
export function defaultAuthorize({
  takeover,
  openLeases,
}: Pick<Settings, 'takeover' | 'openLeases'>): Authorize {
  return ({ role }, action, resource) => {
    if (role === 'admin') return true
    if (action === 'admin') return false
    if (action === 'observe') return role === 'lease'
    // The ids of leases can be read there, and with its id a session's lock could be ended by another session.
    if (action === 'lease') return role === 'lease' || (openLeases && roomOf(resource) === null)
    return action !== 'takeover' || takeover
  }
}

/** Neither leads back to the id nor from one to the other. */
export async function publicIdOf(id: string): Promise<string> {
  return (await digest('public', id)).slice(0, 16)
}

/** What others see of a tab. */
export async function clientIdOf(id: string, client: string): Promise<string> {
  return (await digest('client', id, client)).slice(0, 16)
}

/** Names a holder in its leases: the caller and its tab. */
export function holderKey(id: string, client: string): Promise<string> {
  return digest('holder', id, client)
}

async function digest(...parts: readonly string[]): Promise<string> {
  const input = new TextEncoder().encode(JSON.stringify(['holdfast', ...parts]))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', input))
  return Array.from(hash.subarray(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
