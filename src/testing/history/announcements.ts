/** The end of a lock, as the store knows it. Times are true time in milliseconds. */
export interface Unlock {
  readonly room: string
  readonly token: number
  /** When its lock was granted. */
  readonly lockedAt: number
  /** Nobody can have heard of the end before. Default: the grant. */
  readonly endedAt?: number
  /** By when every node must have heard of the end. */
  readonly knownBy: number
}

/** `document.unlocked`, as a socket heard it. */
export interface HeardUnlock {
  readonly room: string
  readonly token: number
  readonly at: number
}

/** One socket, from the confirmation of its subscription until its connection was lost. */
export interface Listening {
  readonly socket: string
  readonly room: string
  readonly from: number
  to: number
  readonly heard: HeardUnlock[]
}

/**
 * Each unlock is announced to each socket once: never twice, never for a lock that nobody had, and not missed by a
 * socket that listened from before the lock until the last moment for the announcement.
 */
export function unlockViolations(unlocks: readonly Unlock[], sockets: readonly Listening[]): string[] {
  return sockets.flatMap(({ socket, room, from, to, heard }) => {
    const ofRoom = unlocks.filter((unlock) => unlock.room === room)
    const times = Map.groupBy(heard, ({ token }) => token)
    const known = new Set(ofRoom.map(({ token }) => token))
    return [
      ...[...times].flatMap(([token, again]) =>
        again.length > 1 ? [`${socket} heard ${again.length} times that ${token} of ${room} has ended`] : [],
      ),
      ...[...times.keys()].flatMap((token) =>
        known.has(token) ? [] : [`${socket} heard of the end of ${token} of ${room}, which has not ended`],
      ),
      ...ofRoom.flatMap(({ token, lockedAt, endedAt = lockedAt }) =>
        (times.get(token) ?? []).some(({ at }) => at < endedAt)
          ? [`${socket} heard of the end of ${token} of ${room} before it had ended`]
          : [],
      ),
      ...ofRoom.flatMap(({ token, lockedAt, knownBy }) =>
        from < lockedAt && knownBy < to && !times.has(token)
          ? [`${socket} did not hear that ${token} of ${room} has ended`]
          : [],
      ),
    ]
  })
}
