/**
 * Names and limits for client and server. The document lock of a page imports this file and `pusher.ts`, not `index.ts`: a bundler
 * that cannot leave out unused code, as with `require`, would put all of Valibot into the page.
 */

/** The header with the client's id, so that a second tab of a session cannot edit with the lock of the first. */
export const CLIENT_HEADER = 'X-Holdfast-Client'

/**
 * The header that makes a request one of another person with the same session cookie: a page can show two people in one
 * window. Only pages of the server's own origin can send it.
 */
export const GUEST_HEADER = 'X-Holdfast-Guest'

/** The header of every answer with the version of the protocol. Raised when older clients could misread an answer. */
export const PROTOCOL_HEADER = 'X-Holdfast-Protocol'
export const PROTOCOL_VERSION = 1

/** The public name of a room's channel. Its other forms begin with `private-` or `presence-`. */
export function roomChannel(roomId: string): string {
  return `document.${roomId}`
}

/** The room of a channel in any of its forms; `null` if it belongs to no room. */
export function roomOfChannel(channel: string): string | null {
  return /^(?:private-|presence-)?document\.(.+)$/s.exec(channel)?.[1] ?? null
}

/** The channel with every change of every lease, without ids. For observers, and for `watch`. */
export const LEASES_CHANNEL = 'private-holdfast.leases'

/** The channel with the wake-ups and losses of one client of the lease API: the `client` of its requests. */
export function clientChannel(client: string): string {
  return `private-holdfast.client.${client}`
}
