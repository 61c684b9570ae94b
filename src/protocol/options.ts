/** The limits of what a client may send, and how many results it gets unless it says how many. */

export const MIN_LEASE_TTL_MS = 10
export const MAX_LEASE_TTL_MS = 86_400_000
/** How long a resource may stay taken without a holder: as long as the core allows. */
export const MAX_KEPT_MS = 2_147_483_647
/** The shortest and the longest time that a holder may ask for before it hands over. It may ask again. */
export const MIN_POSTPONE_MS = 1000
export const MAX_POSTPONE_MS = 600_000
/** How many renewals and releases one request may contain. */
export const MAX_LEASE_BATCH = 50
/** How many results a request gets at most, and without a `limit`. */
export const MAX_RESULTS = 1000
export const DEFAULT_RESULTS = 100
/** Of how many rooms one request may ask. */
export const MAX_ROOMS = 500
/** How many records of telemetry one request may contain. */
export const MAX_RECORDS = 500

export const MAX_RESOURCE_LENGTH = 512
export const MAX_APP_ID_LENGTH = 100
export const MAX_REQUEST_ID_LENGTH = 64
export const MAX_RECORD_TYPE_LENGTH = 100
/** The name of a channel, with its prefix, and the name of an event. */
export const MAX_CHANNEL_LENGTH = 600
export const MAX_EVENT_LENGTH = 200
/** The names of what to tell about a channel. */
export const MAX_INFO_LENGTH = 100
/** The name of a private or presence channel that a page asks to have signed. */
export const MAX_SIGNED_CHANNEL_LENGTH = 400
/** How many channels an event may go to, and how many events one request may contain. */
export const MAX_CHANNELS = 100
export const MAX_EVENT_BATCH = 50
