import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { eventually } from '../eventually.ts'
import { HANG_MS } from '../hang-limit.ts'
import { type Hold, holdsOf, violations } from '../processes/checker.ts'
import { readLog } from '../processes/observation.ts'
import { Holdfast, isRunning } from './holdfast.ts'

/** Long enough that a busy machine can kill a command in the last tenth of it, which is the time for that. */
export const TTL_MS = 10_000

export interface TickOptions {
  readonly store: string
  readonly ttl?: string
  readonly forMs?: number
  readonly manner?: 'stubborn' | 'forks' | 'leaves'
  readonly flags?: readonly string[]
}

/** Commands under `holdfast run` that write down when they were at work. */
export class Ticking {
  readonly #log: string
  readonly resource: string

  constructor(directory: string, resource = 'job') {
    this.#log = join(directory, 'ticks')
    this.resource = resource
  }

  start(
    name: string,
    { store, ttl = `${TTL_MS}ms`, forMs = 3 * HANG_MS, manner, flags = [] }: TickOptions,
  ): Holdfast {
    const command = [join(import.meta.dirname, 'tick.ts'), this.#log, name, String(forMs)]
    if (manner) command.push(manner)
    const options = ['--store', store, '--ttl', ttl, ...flags]
    return new Holdfast(['run', ...options, this.resource, '--', process.execPath, ...command])
  }

  get holds(): Hold[] {
    if (!existsSync(this.#log)) return []
    return holdsOf(readLog(this.#log).sort((a, b) => a.at - b.at))
  }

  /** Resolves when this command is at work, and has said of so many processes who they are. */
  async atWork(name: string, run: Holdfast, processes = 1): Promise<void> {
    await eventually(() => {
      expect(this.holds.map((hold) => hold.worker)).toContain(name)
      expect(pidsOf(run)).toHaveLength(processes)
    })
  }

  /** Resolves with what this command has done when it is dead, and all that it started. */
  async dead(name: string, run: Holdfast): Promise<Hold> {
    await expect.poll(() => pidsOf(run).some(isRunning)).toBe(false)
    const hold = this.holds.find(({ worker }) => worker === name)
    if (!hold) throw new Error(`${name} was never at work`)
    return hold
  }

  /** Nobody was at work while another was, and tokens rose. */
  expectOneAtATime(): void {
    const expectations = { longestWaitMs: Number.POSITIVE_INFINITY, killed: new Set<string>() }
    expect(violations(readLog(this.#log), expectations)).toEqual([])
  }
}

/** Each of its processes prints its own in a line. */
function pidsOf({ stdout }: Holdfast): number[] {
  return stdout.split('\n').slice(0, -1).map(Number)
}
