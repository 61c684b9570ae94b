/** The limits of settings of a kind. Those of a single setting are in `settings.ts`. */

/** How many characters a secret has at least. */
export const MIN_SECRET_LENGTH = 16
/** How many proxies a request may pass through. */
export const MAX_PROXIES = 20
