/**
 * Judges what the processes wrote down. A process notes the moments at which it believed to hold a lease, the
 * last one too if it is killed right after it, so a hold reaches from the first to the last of them.
 */
import { type Hold, holdViolations } from '../history/index.ts'
import type { Observation } from './observation.ts'

export type { Hold }

export interface Expectations {
  /** The longest that anybody may wait for a lease, in milliseconds. */
  readonly longestWaitMs: number
  /** Those who were killed, and whose last wait may have no end. */
  readonly killed: ReadonlySet<string>
  /**
   * The store keeps a queue, and after a handoff that took less than this, in milliseconds, nobody can have lost his
   * place in it for being late. Absent: the order is not judged.
   */
  readonly queueWithinMs?: number | undefined
}

/**
 * What went wrong, in words: double grants, tokens that do not rise, waits without end, waiters that were passed.
 *
 * @example
 * expect(violations(log, expectations)).toEqual([])
 */
export function violations(log: readonly Observation[], expectations: Expectations): string[] {
  const ordered = log.toSorted((a, b) => a.at - b.at)
  const resources = Map.groupBy(ordered, ({ resource }) => resource)
  return [
    ...holdViolations(holdsOf(ordered)),
    ...longWaits(ordered, expectations),
    ...[...resources.values()].flatMap((ofOne) => overtakings(ofOne, expectations)),
  ]
}

/** In the order in which they began. */
export function holdsOf(ordered: readonly Observation[]): Hold[] {
  const holds = new Map<string, Hold>()
  for (const { at, worker, resource, token, share } of ordered) {
    if (token === undefined) continue
    const key = `${token} ${worker} ${resource}`
    holds.set(key, { resource, token, worker, share, from: holds.get(key)?.from ?? at, to: at })
  }
  return [...holds.values()]
}

interface Wait {
  readonly worker: string
  readonly resource: string
  readonly ms: number
}

/** Those of the living that have no end count up to the last observation. */
export function waitsOf(ordered: readonly Observation[], killed: ReadonlySet<string>): Wait[] {
  const waits: Wait[] = []
  const asking = new Map<string, Observation>()
  const end = ({ at, worker, resource }: Observation, until: number) =>
    waits.push({ worker, resource, ms: (until - at) / 1000 })
  for (const observation of ordered) {
    const { at, worker, resource, token, place } = observation
    if (place !== undefined) continue
    const key = `${worker} ${resource}`
    const ask = asking.get(key)
    if (token === undefined) asking.set(key, observation)
    else if (ask) {
      end(ask, at)
      asking.delete(key)
    }
  }
  const last = ordered.at(-1)?.at ?? 0
  for (const ask of asking.values()) if (!killed.has(ask.worker)) end(ask, last)
  return waits
}

function longWaits(ordered: readonly Observation[], { longestWaitMs, killed }: Expectations): string[] {
  return waitsOf(ordered, killed)
    .filter(({ ms }) => ms > longestWaitMs)
    .map(({ worker, resource, ms }) => `${worker} waited ${Math.round(ms)} ms for ${resource}`)
}

/**
 * Only what is certain counts: a worker was told its place before another began to ask, and the other was granted
 * the lease first. A handoff that took long may have cost any waiter its place, so the places from before it are
 * forgotten.
 */
function overtakings(ofOne: readonly Observation[], { queueWithinMs, killed }: Expectations): string[] {
  if (queueWithinMs === undefined) return []
  const found: string[] = []
  const waiting = new Map<string, { readonly askedAt: number; queuedAt?: number }>()
  let last: Observation | undefined
  for (const observation of ofOne) {
    const { at, worker, resource, token, place } = observation
    const wait = waiting.get(worker)
    if (place === null) waiting.delete(worker)
    else if (place !== undefined) {
      if (wait) wait.queuedAt ??= at
    } else if (token === undefined) waiting.set(worker, { askedAt: at })
    else {
      if (token !== last?.token) {
        waiting.delete(worker)
        const isQuick = last !== undefined && at - last.at < queueWithinMs * 1000
        for (const [other, { askedAt, queuedAt }] of waiting) {
          if (!isQuick) waiting.set(other, { askedAt })
          else if (wait && queuedAt !== undefined && queuedAt < wait.askedAt && !killed.has(other))
            found.push(
              `${worker} was granted ${resource} with token ${token} before ${other}, ` +
                `which waited in the queue ${wait.askedAt - queuedAt} µs before ${worker} asked`,
            )
        }
      }
      last = observation
    }
  }
  return found
}
