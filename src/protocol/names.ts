/** Names that both sides use. Apart from the schemas, so that a page which validates nothing loads no validator. */

/** The header that names the tab, so that a session's second tab does not edit through the first one's lock. */
export const CLIENT_HEADER = 'X-Holdfast-Client'

/** The public name of a room's channel; `private-` and `presence-` go before it. */
export function roomChannel(roomId: string): string {
  return `document.${roomId}`
}

/** Every change of every lease, without ids. For observers, and for `watch`. */
export const LEASES_CHANNEL = 'private-holdfast.leases'

/** Wake-ups and losses of one client of the lease API, which names itself in `client` when it asks. */
export function clientChannel(client: string): string {
  return `private-holdfast.client.${client}`
}
