/** What the page about security promises, and the tests that show it. */
export interface SecurityRow {
  readonly name: string
  readonly promise: string
  /** As on the page, with the part of the file in brackets. */
  readonly tests: string
}

export const THREATS: readonly SecurityRow[] = [
  {
    name: 'a stale holder saves over its successor, at any node, also after a restart',
    promise: '409; the fence is compared in the same step as the save',
    tests: '`test/cli/serve-nodes.test.ts`, `test/server/contents.test.ts`',
  },
  {
    name: 'a save over a newer revision',
    promise: '412 with `If-Match`',
    tests: '`src/server/routes/contents.test.ts`',
  },
  {
    name: 'one session, or another tab, renews, releases or saves with the lock of another',
    promise: '403',
    tests: '`src/server/http/routes.test.ts`',
  },
  {
    name: 'a late beacon of a closed page frees its next lock',
    promise: '409, by its token',
    tests: '`src/server/http/routes.test.ts`',
  },
  {
    name: 'the id of a session or of a lease leaks in an answer, an event or the log',
    promise: 'only hashes are shown',
    tests: "`src/server/http/bad-input.test.ts` ('never gets a secret in the answer')",
  },
  {
    name: 'a forged or old cookie',
    promise: 'a new session',
    tests: '`src/server/session-cookie.test.ts`',
  },
  {
    name: "a page of another site calls with the user's cookie (CSRF)",
    promise: '403 by `Origin` or `Sec-Fetch-Site`; the cookie is `SameSite=Lax`',
    tests: '`src/server/http/bad-input.test.ts`',
  },
  {
    name: 'a socket hears a room that its sender may not read over HTTP',
    promise: '403 of the channel, by the same `authorize`',
    tests: '`src/server/identity.test.ts`',
  },
  {
    name: 'a client invents its address, its host or HTTPS in a header',
    promise: 'ignored, unless a trusted proxy wrote it',
    tests: '`src/server/http/proxies.test.ts`',
  },
  {
    name: '`identify` returns no id',
    promise: '500, never an identity that senders share',
    tests: '`src/server/identity.test.ts`',
  },
  {
    name: 'names of rooms in the log or the figures',
    promise: 'only with `logRooms`',
    tests: '`src/server/http/request-log.test.ts`, `test/server/figures.test.ts`',
  },
  {
    name: 'a page of another site opens a socket',
    promise: '4009',
    tests: '`test/server/sockets.test.ts`',
  },
  {
    name: 'a page whose name points to a loopback server (DNS rebinding)',
    promise: '421, for requests, pages and sockets',
    tests: "`test/server/server.test.ts` ('the name in the Host header')",
  },
  {
    name: "a forged signature of a channel, of a sign-in, of a backend's request; a repeated one after 600 s; a changed body or parameter",
    promise: '401',
    tests: '`src/server/channels/hub.test.ts`, `test/server/pusher-api.test.ts`',
  },
  {
    name: 'a request to `/api/locks` names a resource in its query that its sender may see',
    promise: '`authorize` is asked about all of them, as without it',
    tests: "`src/server/lease-push.test.ts` ('an authorize of the user')",
  },
  {
    name: 'a socket is opened at an address with a password, which no `Request` takes',
    promise: '404',
    tests: '`test/server/server.test.ts`',
  },
  {
    name: 'a socket reads the channel of another user',
    promise: '403',
    tests: '`test/server/pusher-api.test.ts`',
  },
  {
    name: 'anonymous telemetry decides about a rollback',
    promise: '403 unless `acceptTelemetry`',
    tests: '`src/server/http/routes.test.ts`',
  },
  {
    name: 'somebody else than the queue starts a job',
    promise: '403 with `oidcAuthorize`',
    tests: '`src/once/task-handler.test.ts`',
  },
  {
    name: 'a user sends the `Idempotency-Key` of another one to read its answer',
    promise: 'each principal has its own keys',
    tests:
      "`test/idempotency/describe-idempotency.ts` ('has keys of its own for each principal, so that nobody gets the answer of another one')",
  },
  {
    name: 'names and rooms that reverse or hide text',
    promise: '400',
    tests: '`src/server/http/bad-input.test.ts`',
  },
  {
    name: 'an answer to a handoff request that does not exist',
    promise: '404',
    tests: '`src/server/http/routes.test.ts`',
  },
  {
    name: 'other users of the machine read the database or the secrets',
    promise: 'files are created with mode 600',
    tests: '`test/cli/serve.test.ts`',
  },
  {
    name: 'a damaged row, message or secret',
    promise: 'reported, never granted, never overwritten by the server',
    tests: '`test/server/damaged.test.ts`, `test/server/contents.test.ts`',
  },
]

export const COSTS: readonly SecurityRow[] = [
  {
    name: 'requests',
    promise:
      '`rate` and `burst` of an address (IPv6: of its first 64 bits), on every route but `/healthz`. Without addresses: of a session, and of all who have none together. Heartbeats and releases are counted by themselves, and requests with an accepted token of the settings are not counted',
    tests:
      '`src/server/http/bad-input.test.ts`, `src/server/http/proxies.test.ts`, `src/server/http/rate-limit.test.ts`',
  },
  {
    name: 'large, deep or slow bodies',
    promise: '`maxBody`, `maxDocument`, `maxDepth`, `receiveWithin`',
    tests: '`src/server/http/bad-input.test.ts`, `test/server/server.test.ts`',
  },
  {
    name: 'requests that wait',
    promise: '`maxWaiters` of a room, `maxWaitersOfAddress`',
    tests: '`src/server/waiting-requests.test.ts`',
  },
  {
    name: 'traffic to a room',
    promise:
      'the list of waiters has 20 names, and is sent at most 12 times a second by each node, however many wait',
    tests: '`src/server/room-queues.test.ts`',
  },
  {
    name: 'sockets, frames, channels, members',
    promise:
      '`maxSockets` and [the limits of channels](websocket.md#limits); a client that does not read, not even the pongs to its pings, is cut off at 1 MiB',
    tests: '`test/server/sockets.test.ts`, `src/server/channels/hub.test.ts`',
  },
  {
    name: 'rows of rooms that were only locked',
    promise: 'deleted an hour after the lock',
    tests: '`test/server/contents.test.ts`',
  },
  {
    name: 'the audit trail',
    promise: '`auditEntries`, `maxEntries`: the oldest are deleted',
    tests: '`test/server/contents.test.ts`',
  },
]
