import type { Settings } from '../configuration/settings.ts'
import { digest } from './signer.ts'

/** Who sent a request: what your `identify` returned, with its claims, and what others see of it. */
export interface Identity extends IdentifyResult {
  /** What others see: the `session_id`, and the owner of its leases. */
  readonly publicId: string
  /** `lease` and `admin` sent a token of the settings. `lease` may use the lease API; `admin` may do everything. */
  readonly role: Role
}

/** What your `identify` returns for a request. */
export interface IdentifyResult {
  /**
   * Stays the same for a user or a session. A secret of the server and the sender: everybody who shows it holds what this
   * identity has locked.
   */
  readonly id: string
  /** Shown to others beside a lock. */
  readonly name?: string | undefined
  /** Default `session`. */
  readonly role?: Role | undefined
  /** Claims of your own, for your `authorize`. They go nowhere else. */
  readonly [claim: string]: unknown
}

export type Role = 'session' | 'lease' | 'admin'

/** `null`: the request is refused with 401. */
export type Identify = (request: Request) => IdentifyResult | null | Promise<IdentifyResult | null>

export type Action =
  /** See a lock, a content, and the events of a room. */
  | 'read'
  /** Hear a public channel that is not the channel of a room. The resource is the channel. */
  | 'subscribe'
  /** Lock, renew, unlock, ask for a handoff. */
  | 'lock'
  | 'save'
  | 'takeover'
  /** The lease API. */
  | 'lease'
  /** See every lease and the figures of the service. */
  | 'observe'
  /** Send telemetry, by which releases are judged. */
  | 'telemetry'
  /** Force a release, read the audit trail. */
  | 'admin'

/**
 * `resource`: the room, for `lease` the resource, for `subscribe` the channel; empty if the action is about all of
 * them.
 */
export type Authorize = (identity: Identity, action: Action, resource: string) => boolean | Promise<boolean>

/** The leases of documents have their own prefix, so that rooms and the lease API share one store. */
const ROOM_PREFIX = 'document:'

export function roomResource(room: string): string {
  return ROOM_PREFIX + room
}

/** The room that a lease belongs to; `null` for any other lease. */
export function roomOf(resource: string): string | null {
  return resource.startsWith(ROOM_PREFIX) ? resource.slice(ROOM_PREFIX.length) : null
}

/**
 * Sessions may use documents. Everything else needs a token.
 *
 * @example
 * const usual = defaultAuthorize(settingsOf())
 * const authorize: Authorize = (identity, action, resource) =>
 *   resource !== 'payroll' && usual(identity, action, resource)
 */
export function defaultAuthorize({
  takeover,
  openLeases,
  acceptTelemetry,
}: Pick<Settings, 'takeover' | 'openLeases' | 'acceptTelemetry'>): Authorize {
  return ({ role }, action, resource) => {
    if (role === 'admin') return true
    if (action === 'admin') return false
    if (action === 'observe') return role === 'lease'
    if (action === 'telemetry') return role === 'lease' || acceptTelemetry
    // The lease API shows the ids of leases, and ends them by force. The locks of documents have routes of their own.
    if (action === 'lease') return (role === 'lease' || openLeases) && roomOf(resource) === null
    return action !== 'takeover' || takeover
  }
}

/** These are hashes: none of them reveals the id, or one of the others. */
export async function publicIdOf(id: string): Promise<string> {
  return (await digest('holdfast', 'public', id)).slice(0, 16)
}

/** What others see of a client. */
export async function publicClientIdOf(id: string, clientId: string): Promise<string> {
  return (await digest('holdfast', 'client', id, clientId)).slice(0, 16)
}

/** Identifies a client in the ids of its leases. */
export function clientKeyOf(id: string, clientId: string): Promise<string> {
  return digest('holdfast', 'holder', id, clientId)
}

/** All hashes have the same length, so comparing them reveals nothing about the token. */
export function tokenHashOf(token: string): Promise<string> {
  return digest('holdfast', 'holder', 'token', token)
}
