/**
 * The numbers of what a page loads on demand, with `holding.ts`, and of the HTTP store. They are not in `options.ts`, so
 * that a page need not load them at once.
 */

/** What a response may take in addition to the time that the request waits at the server. */
export const RESPONSE_MS = 10_000
/** The shortest time between two requests of one wait. It doubles with every failure in a row. */
export const SHORTEST_WAIT_MS = 1000
export const MOST_WAIT_DOUBLINGS = 3
/** How long one request waits at the server. Common proxies end requests after 30 or 60 s. */
export const LONGEST_REQUEST_WAIT_MS = 25_000
/** A connection that breaks by chance must not make a page ask all the time. */
export const SHORTEST_REQUEST_WAIT_MS = 2000
/** Later requests wait for this part of the time after which a proxy has ended a request. */
export const SAFE_WAIT_PART = 0.8
/** How long after a withdrawal an earlier request is cut off, if the server has not ended it. */
export const CUT_OFF_MS = 1000
/** The longest time that any server gives a holder to save or to answer. One of an earlier version does not say it. */
export const LONGEST_DECISION_MS = 300_000

/** For this long after the next heartbeat of an agreed handoff, the end of the lock is not a loss. */
export const HANDOFF_MS = 5000
/** The answer to a heartbeat is late after this part of the TTL: 2 s of 30 s. */
export const LATE_PART = 1 / 15
/** A step of `beforeRelease` may take as long as one request. After that the lock is released all the same. */
export const STEP_LIMIT_MS = 10_000

/** How long an idle holder is asked before it hands over. */
export const ASK_IDLE_MS = 30_000
/** What is left of a request when an idle holder hands over, to save and to answer. */
export const TO_ANSWER_MS = 3000
/** Of more people, only these are in the state. */
export const MAX_PEOPLE = 100

/** The pause before a connection is opened again. It doubles with every failed connection in a row. */
export const RECONNECT_MS = 500
export const LONGEST_RECONNECT_MS = 20_000
/** A connection whose events have arrived for this long has not failed. Proxies end others right after they opened. */
export const STABLE_MS = 10_000
/** The longest time for a connection to open, and for the answer to a ping. */
export const PONG_MS = 10_000
/** After this much silence a ping checks whether the server is still there, unless the server names another time. */
export const PING_AFTER_MS = 120_000
export const SHORTEST_PING_AFTER_MS = 1000

/** How many names one request of the HTTP store may read. */
export const READ_AT_ONCE = 100
/** How many leases the server lists or sweeps at once. */
export const MOST_LISTED_AT_ONCE = 1000
/** How many batches of renewals and releases are in flight. More would not be faster: what waits is sent together. */
export const MAX_BATCHES_IN_FLIGHT = 8
/** How long the push connection of the HTTP store stays open after the last waiter or holder has gone. */
export const PUSH_IDLE_MS = 2000
/** A proxy may never answer the request for a WebSocket. The caller then asks again by HTTP. */
export const PUSH_OPEN_LIMIT_MS = 2000
