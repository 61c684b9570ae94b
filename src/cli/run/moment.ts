/** One instant on both clocks. The monotonic one is the machine's, the same for all its processes, in milliseconds. */
export interface Moment {
  readonly mono: number
  readonly wall: number
}

export function present(): Moment {
  return { mono: Number(process.hrtime.bigint()) / 1e6, wall: Date.now() }
}

export function later({ mono, wall }: Moment, ms: number): Moment {
  return { mono: mono + ms, wall: wall + ms }
}

/** By the clock that comes to it first: one may stand still while the machine sleeps, the other may be set. */
export function msUntil({ mono, wall }: Moment): number {
  const now = present()
  return Math.min(mono - now.mono, wall - now.wall)
}
