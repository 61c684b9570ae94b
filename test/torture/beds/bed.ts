import type { SmallDisk } from '../small-disk.ts'

/** One server of a store, which faults happen to. */
export interface Node {
  readonly port: number
  freeze(): void
  thaw(): void
  /** Ends it at once. Its data stay. */
  crash(): Promise<void>
  /** Resolves when it answers again. */
  revive(): Promise<void>
}

/** `hosts`: the addresses by which workers reach this machine, beside that of the loopback. */
export type OpenBed = (hosts: readonly string[]) => Promise<Bed>

/** A store for workers, and what can happen to it. */
export interface Bed extends AsyncDisposable {
  readonly ttl: number
  /** The servers to which workers connect, each through a link of its own. Empty: the store is a file. */
  readonly nodes: readonly Node[]
  /** How many of them may be down at once. A server that forgets in a crash what it confirmed: 0. */
  readonly mayCrash: number
  /** The store's clock is that of the workers, so theirs must not jump. */
  readonly usesClockOfWorkers?: boolean
  readonly disk?: SmallDisk | undefined
  /** Servers behind the nodes, such as the database of a Holdfast server. */
  readonly behind?: readonly Node[]
  /** Lets the clock of the store jump by seconds. */
  readonly jump?: (seconds: number) => Promise<void>
  address(links: readonly string[]): string
  /** Which of the nodes leads the others. */
  leader?(): Promise<Node>
}
