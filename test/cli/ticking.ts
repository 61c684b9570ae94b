import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type Hold, holdsOf, violations } from '../../src/testing/node/checker.ts'
import { readLog } from '../../src/testing/node/observation.ts'
import { eventually } from '../eventually.ts'
import { HANG_MS } from '../hang-limit.ts'
import { Holdfast, isRunning } from './holdfast.ts'

/** `run` kills in the last tenth of the TTL. This one is so long that a busy machine can do that in time. */
export const TTL_MS = 10_000

export interface TickOptions {
  readonly store: string
  readonly ttl?: string
  readonly forMs?: number
  /** `stubborn` ignores SIGTERM, `forks` starts a stubborn child, `leaves` does too and then exits. */
  readonly behaviour?: 'stubborn' | 'forks' | 'leaves'
  readonly flags?: readonly string[]
}

/** Commands of `holdfast run` that log when they were running. */
export class Ticking {
  readonly #log: string
  readonly resource: string

  constructor(directory: string, resource = 'job') {
    this.#log = join(directory, 'ticks')
    this.resource = resource
  }

  start(
    name: string,
    { store, ttl = `${TTL_MS}ms`, forMs = 3 * HANG_MS, behaviour, flags = [] }: TickOptions,
  ): Holdfast {
    const command = [join(import.meta.dirname, 'tick.ts'), this.#log, name, String(forMs)]
    if (behaviour) command.push(behaviour)
    const options = ['--store', store, '--ttl', ttl, ...flags]
    return new Holdfast(['run', ...options, this.resource, '--', process.execPath, ...command])
  }

  get holds(): Hold[] {
    if (!existsSync(this.#log)) return []
    return holdsOf(readLog(this.#log).sort((a, b) => a.at - b.at))
  }

  /** Resolves when this command is running, and so many of its processes have printed their ids. */
  async untilRunning(name: string, run: Holdfast, processes = 1): Promise<void> {
    await eventually(() => {
      expect(this.holds.map((hold) => hold.worker)).toContain(name)
      expect(pidsOf(run)).toHaveLength(processes)
    })
  }

  /** Waits until this command and all its processes are dead. Resolves with the time in which it was running. */
  async untilDead(name: string, run: Holdfast): Promise<Hold> {
    await expect.poll(() => pidsOf(run).some(isRunning)).toBe(false)
    const hold = this.holds.find(({ worker }) => worker === name)
    if (!hold) throw new Error(`${name} never ran`)
    return hold
  }

  /** No two commands were running at the same time, and tokens rose. */
  expectOneAtATime(): void {
    const expectations = { longestWaitMs: Number.POSITIVE_INFINITY, killed: new Set<string>() }
    expect(violations(readLog(this.#log), expectations)).toEqual([])
  }
}

/** Each process of the command prints its id in a line. */
function pidsOf({ stdout }: Holdfast): number[] {
  return stdout.split('\n').slice(0, -1).map(Number)
}
