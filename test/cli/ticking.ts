import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { type Hold, holdsOf, violations } from '../processes/checker.ts'
import { readLog } from '../processes/observation.ts'
import { Holdfast, isRunning } from './holdfast.ts'

/** As long as a machine may take that has other things to do. */
export const PATIENCE = { timeout: 30_000, interval: 50 }
export const TTL_MS = 3000

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
    { store, ttl = `${TTL_MS}ms`, forMs = 60_000, manner, flags = [] }: TickOptions,
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

  /** Resolves when this command is at work. */
  async atWork(name: string): Promise<void> {
    await vi.waitFor(() => expect(this.holds.map((hold) => hold.worker)).toContain(name), PATIENCE)
  }

  /** Resolves with what this command has done when it is dead, and all that it started. */
  async dead(name: string, run: Holdfast): Promise<Hold> {
    const isAnyRunning = () => run.stdout.trim().split('\n').map(Number).some(isRunning)
    await vi.waitFor(() => expect(isAnyRunning()).toBe(false), PATIENCE)
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
