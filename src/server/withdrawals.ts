/**
 * A client that gives up ends its requests that wait at any node. The node that hears of it tells the others over the
 * bus. If that message is lost, the request waits until its own end, as if the client had not given up.
 */
import * as v from 'valibot'
import type { Clock } from '../base/clock.ts'
import { randomId } from '../base/random-id.ts'
import { person } from '../protocol/index.ts'
import type { Bus, BusMessage } from './bus.ts'
import type { Handoff } from './handoff.ts'
import type { LockClient, Locks } from './locks.ts'
import type { OnError } from './service.ts'

const TOPIC = 'withdrawal'
const message = v.object({ node: v.string(), room: v.string(), person, before: v.number() })

export interface WithdrawalsOptions {
  readonly bus: Bus
  readonly clock: Clock
  readonly locks: Locks
  readonly handoff: Handoff
  readonly onError: OnError
}

export class Withdrawals {
  readonly #options: WithdrawalsOptions
  readonly #node = randomId()

  constructor(options: WithdrawalsOptions) {
    this.#options = options
  }

  /** Ends the client's handoff requests here, and all its requests elsewhere. `unlock` ends those that wait here. */
  async withdraw(room: string, { person }: LockClient): Promise<void> {
    const { bus, clock, handoff, onError } = this.#options
    handoff.withdraw(room, person, Infinity)
    const data = { node: this.#node, room, person, before: clock.now() }
    await bus.publish({ topic: TOPIC, data }).catch((error: unknown) => onError('withdrawal', error))
  }

  receive({ topic, data }: BusMessage): void {
    if (topic !== TOPIC || !v.is(message, data) || data.node === this.#node) return
    const { locks, handoff } = this.#options
    const { room, person, before } = data
    // Requests that began later are those of a client that has come back.
    handoff.withdraw(room, person, before)
    locks.withdrawnElsewhere(room, person, before)
  }
}
