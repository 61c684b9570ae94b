/** Judges what the workers of a round have written down: what they believed to hold, and what they wrote. */
import { DatabaseSync } from 'node:sqlite'
import { holdViolations, type LeaseOperation, leaseViolations } from '../../src/testing/history/index.ts'
import { holdsOf } from '../../src/testing/node/checker.ts'
import type { Observation } from '../../src/testing/node/index.ts'
import { readLog } from '../../src/testing/node/observation.ts'

export interface Evidence {
  readonly logPath: string
  readonly guardPath: string
  /** The store's clock has jumped, so only the tokens are promised. */
  readonly jumps: boolean
}

export function judge({ logPath, guardPath, jumps }: Evidence): string[] {
  const log = readLog(logPath)
  const ofLeases = jumps ? leaseViolations(grantsOf(log), { jumps }) : holdViolations(holdsOf(log))
  return [...ofLeases, ...fallingWrites(guardPath)]
}

/** Each grant took effect between the moment at which a worker began to ask and the first at which it held the lease. */
function grantsOf(log: readonly Observation[]): LeaseOperation[] {
  const asked = new Map<string, number>()
  const grants = new Map<string, LeaseOperation>()
  for (const { at, worker: by, resource, token } of log) {
    const key = `${by} ${resource}`
    const id = `${key} ${token}`
    if (token === undefined) asked.set(key, at)
    else if (!grants.has(id))
      grants.set(id, { kind: 'acquire', resource, id, by, token, start: asked.get(key) ?? 0, end: at })
  }
  return [...grants.values()]
}

interface Write {
  readonly resource: string
  readonly token: number
  readonly writer: string
}

/** A guarded resource must never accept a write of an older lease than of the one that wrote last. */
function fallingWrites(guardPath: string): string[] {
  const database = new DatabaseSync(guardPath, { readOnly: true })
  try {
    const writes = database.prepare('select resource, token, writer from writes order by n').all()
    const last = new Map<string, Write>()
    const found: string[] = []
    for (const write of writes as unknown as Write[]) {
      const { resource, token, writer } = write
      const before = last.get(resource)
      if (before && (token < before.token || (token === before.token && writer !== before.writer)))
        found.push(
          `${writer} wrote to ${resource} with token ${token} after ${before.writer} with ${before.token}`,
        )
      last.set(resource, write)
    }
    return found
  } finally {
    database.close()
  }
}
