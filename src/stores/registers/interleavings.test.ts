import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FakeRegisters } from '../../../test/stores/registers/fake-registers.ts'
import { LeaseError, type LeaseRecord, type LeaseStore } from '../../core/index.ts'
import type { Register } from './registers.ts'
import { liveRecord, rowOf } from './row.ts'

type Step =
  | { readonly do: 'acquire' | 'renew' | 'release' | 'take over'; readonly id: string }
  | { readonly do: 'force' | 'sweep' }
  | { readonly do: 'pass'; readonly ms: number }

const TTL = 100
const ids = fc.constantFrom('a', 'b', 'c')
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('acquire', 'renew', 'release', 'take over'), id: ids }),
  fc.record({ do: fc.constantFrom('force', 'sweep') }),
  fc.record({ do: fc.constant('pass'), ms: fc.constantFrom(1, 40, 99, 100, 101) }),
)

describe('leases on registers, in any order of requests, answers and time', () => {
  it('have one holder at a time, rising tokens, no revival, and are returned to one caller at most', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.array(step, { maxLength: 6 }), { minLength: 2, maxLength: 3 }),
        fc.infiniteStream(fc.nat(9)),
        async (scheduler, scripts, chance) => {
          const registers = new ScheduledRegisters(scheduler, () => chance.next().value === 0)
          const handed: LeaseRecord[] = []
          const actors = scripts.map((script) => act(registers.store(), script, registers, handed))
          await scheduler.waitFor(Promise.all(actors))
          expect(registers.violations).toEqual([])
          const tokens = handed.map(({ token }) => token)
          expect(tokens.length).toBe(new Set(tokens).size)
        },
      ),
      { numRuns: 1000 },
    )
  })
})

async function act(store: LeaseStore, script: Step[], registers: FakeRegisters, handed: LeaseRecord[]) {
  const resource = 'r'
  const hand = (lease: LeaseRecord | null | undefined) => {
    if (lease) handed.push(lease)
  }
  const ask = async (id: string, replace?: number) => {
    const answer = await store.acquire({
      resource,
      id,
      owner: id,
      ttl: TTL,
      ...(replace !== undefined && { replace }),
    })
    if (!answer.granted) return
    hand(answer.replaced)
    if (answer.replaced?.state === 'taken-over') expect(answer.replaced.token).toBe(replace)
  }
  const holderToken = async () => (await store.read([resource]))[0]?.[0]?.token ?? 0
  const take = async (next: Step) => {
    switch (next.do) {
      case 'pass':
        return registers.clock.advance(next.ms)
      case 'acquire':
        return ask(next.id)
      case 'take over':
        return ask(next.id, await holderToken())
      case 'renew':
        return store.renew({ resource, id: next.id, ttl: TTL })
      case 'release':
        return hand((await store.release({ resource, id: next.id })).ended)
      case 'force':
        return hand((await store.release({ resource, token: await holderToken() })).ended)
      case 'sweep':
        return (await store.sweep({ limit: 9 })).forEach(hand)
    }
  }
  for (const next of script) {
    try {
      await take(next)
    } catch (error) {
      if (!(error instanceof LeaseError)) throw error
    }
  }
}

/** The scheduler decides how long requests and answers take. Some answers are lost. */
class ScheduledRegisters extends FakeRegisters {
  readonly violations: string[] = []
  readonly #scheduler: fc.Scheduler
  readonly #losesAnswer: () => boolean
  #highest = 0
  readonly #dead = new Set<number>()

  constructor(scheduler: fc.Scheduler, losesAnswer: () => boolean) {
    super()
    this.#scheduler = scheduler
    this.#losesAnswer = losesAnswer
  }

  override async read(names: readonly string[]) {
    await this.#underWay('read')
    const reading = await super.read(names)
    await this.#underWay('answer')
    return reading
  }

  override async write(name: string, text: string, previous: Register | null) {
    await this.#underWay('write')
    const written = await super.write(name, text, previous)
    if (written) this.#check(previous, written.register)
    await this.#underWay('answer')
    if (this.#losesAnswer()) throw new LeaseError('store-unavailable', 'the answer was lost')
    return written
  }

  #check(previous: Register | null, register: Register): void {
    const now = this.clock.now()
    const before = previous && rowOf(previous)
    const after = rowOf(register)
    const live = before && liveRecord(before, now)
    if (before && !live) this.#dead.add(before.token)
    const lease = liveRecord(after, now)
    if (lease && this.#dead.has(lease.token)) this.violations.push(`${lease.token} was revived`)
    if (live && lease && live.token !== lease.token && after.ended?.state !== 'taken-over')
      this.violations.push(`${lease.token} overlaps ${live.token}`)
    if (after.token < this.#highest) this.violations.push(`${after.token} after ${this.#highest}`)
    this.#highest = Math.max(this.#highest, after.token)
  }

  #underWay(what: string): Promise<void> {
    return this.#scheduler.schedule(Promise.resolve(), what)
  }
}
