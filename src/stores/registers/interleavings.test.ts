import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkProperty } from '../../../test/property.ts'
import { FakeRegisters } from '../../../test/stores/registers/fake-registers.ts'
import { type Ask, LeaseError, type LeaseRecord, type LeaseStore } from '../../core/index.ts'
import { liveRecords } from '../lease-row.ts'
import { registerStore } from './index.ts'
import type { Register } from './registers.ts'
import { rowOf } from './transitions.ts'

type Step =
  | { readonly do: 'acquire' | 'renew' | 'release' | 'take over' | 'steal'; readonly id: string }
  | { readonly do: 'force' | 'sweep' }
  | { readonly do: 'pass'; readonly ms: number }

const TTL = 100
/** What each id asks for: absent is exclusive. */
const SHARES: Record<string, number | undefined> = {
  a: undefined,
  b: undefined,
  r: 2,
  s: 2,
  t: 3,
  u: Infinity,
}

const stepsOf = (ids: readonly string[]): fc.Arbitrary<Step> =>
  fc.oneof(
    fc.record({
      do: fc.constantFrom('acquire', 'renew', 'release', 'take over', 'steal'),
      id: fc.constantFrom(...ids),
    }),
    fc.record({ do: fc.constantFrom('force', 'sweep') }),
    fc.record({ do: fc.constant('pass'), ms: fc.constantFrom(1, 40, 99, 100, 101) }),
  )

describe('leases on registers, in any order of requests, answers and time', () => {
  it.each([
    ['exclusive', [['a', 'b']]],
    ['one exclusive and two shared', [['a'], ['r', 's'], ['s', 't', 'u']]],
    ['shared by two, three or any number', [['r', 's', 't', 'u']]],
  ])(
    'leases on registers, in any order of requests, answers and time fit together, have rising tokens, never come back, and are returned once: %s',
    async (_, actors) => {
      const script = (ids: readonly string[]) => fc.array(stepsOf(ids), { maxLength: 6 })
      const scripts: fc.Arbitrary<Step[][]> =
        actors.length === 1
          ? fc.array(script(actors[0] ?? []), { minLength: 2, maxLength: 3 })
          : fc.tuple(...actors.map(script))
      await checkProperty(
        fc.asyncProperty(
          fc.scheduler(),
          scripts,
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
        { numRuns: 700 },
      )
    },
  )
})

async function act(store: LeaseStore, script: Step[], registers: FakeRegisters, handed: LeaseRecord[]) {
  const resource = 'r'
  const hand = (lease: LeaseRecord | null | undefined) => {
    if (lease) handed.push(lease)
  }
  const ask = async (id: string, replace?: Ask['replace']) => {
    const answer = await store.acquire({ resource, id, owner: id, ttl: TTL, share: SHARES[id], replace })
    if (!answer.granted) return
    hand(answer.replaced)
    if (answer.replaced?.state === 'taken-over' && replace !== 'any')
      expect(answer.replaced.token).toBe(replace)
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
      case 'steal':
        return ask(next.id, 'any')
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

  /** The pauses between two tries end when the scheduler decides. */
  override store(): LeaseStore {
    const { clock } = this
    return registerStore(this, {
      kind: 'fake',
      backend: 'Fake',
      clock: {
        now: () => clock.now(),
        monotonic: () => clock.monotonic(),
        random: () => clock.random(),
        setTimer: (run, ms, background) => {
          if (background) return clock.setTimer(run, ms)
          void this.#underWay('pause').then(run)
          return () => {}
        },
      },
    })
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
    const wasLive = before ? liveRecords(before.state, now) : []
    const live = liveRecords(after.state, now)
    for (const { token } of before?.state.leases ?? [])
      if (!wasLive.some((lease) => lease.token === token)) this.#dead.add(token)
    for (const { token } of live) if (this.#dead.has(token)) this.violations.push(`${token} was revived`)
    const limit = Math.min(...live.map(({ share }) => share ?? 1))
    if (live.length > limit) this.violations.push(`${live.length} leases, where ${limit} may be`)
    for (const { token } of wasLive)
      if (!live.some((lease) => lease.token === token)) {
        const told = after.changes.find((lease) => lease.token === token && lease.state !== 'held')
        if (told?.state !== 'released' && told?.state !== 'taken-over')
          this.violations.push(`${token} ended in silence`)
        this.#dead.add(token)
      }
    if (after.state.token < this.#highest) this.violations.push(`${after.state.token} after ${this.#highest}`)
    this.#highest = Math.max(this.#highest, after.state.token)
  }

  #underWay(what: string): Promise<void> {
    return this.#scheduler.schedule(Promise.resolve(), what)
  }
}
