import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { type Hold, holdsOf, violations } from '../processes/checker.ts'
import { now, readLog } from '../processes/observation.ts'
import { Holdfast } from './holdfast.ts'

const PATIENCE = { timeout: 20_000, interval: 20 }
/** Two logs are one order only if nobody is at work when they are read. */
const QUIET_MS = 100

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

  start(name: string, { store, ttl = '2s', forMs = 60_000, manner, flags = [] }: TickOptions): Holdfast {
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

  /** Resolves with what this command has done when it does no more. */
  async silent(name: string): Promise<Hold> {
    await vi.waitFor(() => expect(this.#of(name)?.to).toBeLessThan(now() - QUIET_MS * 1000), PATIENCE)
    return this.#of(name) as Hold
  }

  /** Nobody was at work while another was, and tokens rose. */
  expectOneAtATime(): void {
    const expectations = { longestWaitMs: Number.POSITIVE_INFINITY, killed: new Set<string>() }
    expect(violations(readLog(this.#log), expectations)).toEqual([])
  }

  #of(name: string): Hold | undefined {
    return this.holds.find((hold) => hold.worker === name)
  }
}
