/** The time in which one holder believed to have a lease, from the first to the last moment that it noted. */
export interface Hold {
  readonly resource: string
  readonly token: number
  readonly worker: string
  /** How many may hold the resource together. Absent: one. */
  readonly share?: number | undefined
  readonly from: number
  readonly to: number
}

/** More holders than may share, tokens of two holders, and tokens that do not rise. Times are in microseconds. */
export function holdViolations(holds: readonly Hold[]): string[] {
  const ordered = holds.toSorted((a, b) => a.from - b.from)
  return [...sharedTokens(ordered), ...overlaps(ordered)]
}

function sharedTokens(holds: readonly Hold[]): string[] {
  const workers = new Map<string, Set<string>>()
  for (const { worker, resource, token } of holds) {
    const key = `token ${token} of ${resource}`
    workers.set(key, (workers.get(key) ?? new Set()).add(worker))
  }
  return [...workers]
    .filter(([, names]) => names.size > 1)
    .map(([token, names]) => `${token} was given to ${[...names].join(' and ')}`)
}

function overlaps(holds: readonly Hold[]): string[] {
  const found: string[] = []
  const holding = new Map<string, Hold[]>()
  const highest = new Map<string, Hold>()
  for (const hold of holds) {
    const { resource, token, share, from } = hold
    const others = (holding.get(resource) ?? []).filter((other) => from <= other.to)
    holding.set(resource, [...others, hold])
    const limit = Math.min(...[hold, ...others].map((one) => one.share ?? 1))
    const [first] = others.toSorted((a, b) => a.to - b.to)
    if (first && others.length >= limit)
      found.push(`${name(hold)} began ${first.to - from} µs before the end of ${name(first)}`)
    const higher = highest.get(resource)
    // Those who share may be granted at the same time, and begin in any order.
    if (higher && token <= higher.token && !share) found.push(`${name(hold)} came after ${name(higher)}`)
    else highest.set(resource, hold)
  }
  return found
}

function name({ resource, token, worker }: Hold): string {
  return `${worker}'s hold of ${resource} with token ${token}`
}
