import { GUEST_HEADER } from '../../../src/protocol/names.ts'
import { SERVICE_URL } from '../ui/service-url.ts'

const PARAMETER = 'guest'

/**
 * The second person of the split view, in a frame of the page. The browser has one session cookie, so the requests of
 * the frame say for whom they are.
 */
export const guest = new URLSearchParams(location.search).get(PARAMETER)

/** What the requests of this page add, if it is the page of a guest. */
export const guestHeaders = guest === null ? undefined : { [GUEST_HEADER]: guest }

export function addressOfGuest(): string {
  return `${SERVICE_URL}?${PARAMETER}=second`
}
