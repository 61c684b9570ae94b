import { describe, expect, it } from 'vitest'
import type { LeaseStore } from '../../src/core/index.ts'
import { type Actor, explore, type Scenario, type World } from './file/explore.ts'
import { renewByRename, storeLookingAtNames, storeWithoutFloor, storeWithoutLook } from './file/mistakes.ts'
import { Referee, TTL_MS } from './file/referee.ts'

const HOUR_MS = 3_600_000

type Act = (actor: Actor, referee: Referee) => Promise<void>

const share = (world: World) => new Referee(world)

function acquires(id: string): Act {
  return async (actor, referee) => void (await referee.acquires(actor, id))
}

function acquiresAtOnce(id: string): Act {
  return (actor, referee) => actor.atOnce(`acquire ${id}`, (alone) => acquires(id)(alone, referee))
}

function acquiresWith(makeStore: (actor: Actor) => LeaseStore, id: string): Act {
  return async (actor, referee) => void (await referee.acquires({ store: makeStore(actor) }, id))
}

function takesOver(id: string): Act {
  return async (actor, referee) => void (await referee.acquires(actor, id, referee.tokens[0]))
}

function renews(id: string): Act {
  return (actor, referee) => referee.renews(actor, id)
}

const sweeps: Act = (actor, referee) => referee.sweeps(actor)

const expired: Act = async (actor, referee) => {
  await referee.acquires(actor, 'h')
  referee.timePasses(TTL_MS)
}

const aboutToExpire: Act = async (actor, referee) => {
  await referee.acquires(actor, 'h')
  referee.timePasses(TTL_MS * 0.6)
}

const free: Act = async (actor, referee) => {
  await referee.acquires(actor, 'h')
  await referee.releases(actor, 'h')
}

const timePasses = (world: World) => world.pass(TTL_MS / 2)

/** Creates enough generations that the first ones are trimmed, and holds the lease in the end. */
const livelyActor: Act = async (actor, referee) => {
  await actor.atOnce('sweep', (alone) => referee.sweeps(alone))
  for (const id of ['a1', 'a2'])
    if (await actor.atOnce(`acquire ${id}`, (alone) => referee.acquires(alone, id)))
      await actor.atOnce(`release ${id}`, (alone) => referee.releases(alone, id))
  await actor.atOnce('acquire a', (alone) => referee.acquires(alone, 'a'))
}

/** Actors may be paused after they have read and after they have linked. */
const sleepers = {
  share,
  before: expired,
  unordered: /^list leases.n-r$/,
  interruptions: 4,
} satisfies Partial<Scenario<Referee>>

/** A sweep forgets the resource. Without a floor, the clock would then lead to a lower token. */
const forgetting = {
  share,
  before: async (actor, referee) => {
    await free(actor, referee)
    referee.timePasses(2 * HOUR_MS)
  },
  unordered: /^list (changes|leases)$/,
  events: { 'the clock is set back': (world) => world.setClock(-4 * HOUR_MS) },
} satisfies Partial<Scenario<Referee>>

async function expectSafe(scenario: Scenario<Referee>): Promise<void> {
  const { failure, states } = await explore(scenario)
  expect(failure).toBeNull()
  expect(states).toBeGreaterThan(100)
}

async function expectUnsafe(scenario: Scenario<Referee>, message: RegExp): Promise<void> {
  const { failure } = await explore(scenario)
  expect(String(failure?.error)).toMatch(message)
}

describe('whatever the order of the file operations of several actors', () => {
  it('one of two gets a new resource', async () => {
    await expectSafe({
      share,
      actors: { A: acquires('a'), B: acquires('b') },
      after: async (_, { tokens }) => expect(tokens).toHaveLength(1),
    })
  })

  it('one of three gets a free resource', async () => {
    await expectSafe({
      share,
      before: free,
      actors: { A: acquires('a'), B: acquires('b'), C: acquires('c') },
      after: async (_, { tokens }) => expect(tokens).toHaveLength(2),
    })
  })

  it('a lease that expires is either renewed or replaced', async () => {
    await expectSafe({
      share,
      before: aboutToExpire,
      actors: { A: acquires('a'), B: acquires('b'), H: renews('h') },
      events: { 'time passes': timePasses },
      after: async () => {},
    })
  })

  it('an expired lease is returned to exactly one of an acquisition and two sweeps', async () => {
    await expectSafe({
      share,
      before: expired,
      unordered: /^list (changes|leases|leases.n-r)$/,
      actors: { A: acquires('a'), S: sweeps, T: sweeps },
      after: async (_, referee) => expect(referee.expired).toEqual(['h']),
    })
  })

  it('a lease is taken over by one of two, whether its holder renews it or not', async () => {
    await expectSafe({
      share,
      before: aboutToExpire,
      actors: { A: takesOver('a'), B: takesOver('b'), H: renews('h') },
      after: async (_, { tokens }) => expect(tokens).toHaveLength(2),
    })
  })

  it('actors that were paused during many changes are granted nothing', async () => {
    await expectSafe({
      ...sleepers,
      actors: { A: livelyActor, B: acquires('b'), C: acquires('c') },
      after: async () => {},
    })
  })

  it('a resource is forgotten or taken, and its tokens rise', async () => {
    await expectSafe({
      ...forgetting,
      interruptions: 2,
      actors: { S: sweeps, A: acquires('a'), B: acquiresAtOnce('b') },
      after: async (_, { tokens }) => expect(tokens).toHaveLength(2),
    })
  })

  it('a resource is forgotten by two at once', async () => {
    await expectSafe({
      ...forgetting,
      actors: { S: sweeps, T: sweeps, A: acquiresAtOnce('a') },
      after: async (_, { tokens }) => expect(tokens).toHaveLength(2),
    })
  })

  it('an actor that dies leaves nothing that stops the others', async () => {
    const deaths = {
      deaths: true,
      after: async (actor: Actor, referee: Referee) => {
        await referee.sweeps(actor)
        referee.timePasses(TTL_MS)
        expect(await referee.acquires(actor, 'z')).toBe(true)
      },
    }
    await expectSafe({ share, actors: { A: acquires('a'), B: acquires('b') }, ...deaths })
    await expectSafe({ share, before: expired, actors: { A: acquires('a'), S: sweeps }, ...deaths })
    await expectSafe({
      ...forgetting,
      interruptions: 2,
      actors: { A: acquires('a'), S: sweeps },
      ...deaths,
    })
  })
})

describe('an exploration finds', () => {
  it('two holders when a renewal is renamed over the old file', async () => {
    const scenario: Scenario<Referee> = {
      share,
      before: aboutToExpire,
      actors: { A: acquires('a'), H: (actor, referee) => renewByRename(actor, referee, 'h') },
      events: { 'time passes': timePasses },
      after: async () => {},
    }
    await expectUnsafe(scenario, /handed out as expired while it was held|hold at once/)
  })

  it('two holders when nothing is checked after a link', async () => {
    const scenario: Scenario<Referee> = {
      ...sleepers,
      actors: { A: livelyActor, B: acquiresWith(storeWithoutLook, 'b') },
      after: async () => {},
    }
    await expectUnsafe(scenario, /granted twice|hold at once/)
  })

  it('two holders when only the name of the file that was read is checked', async () => {
    const scenario: Scenario<Referee> = {
      ...sleepers,
      actors: {
        B: acquiresWith(storeLookingAtNames, 'b'),
        C: acquiresWith(storeLookingAtNames, 'c'),
        A: livelyActor,
      },
      after: async () => {},
    }
    await expectUnsafe(scenario, /granted twice|hold at once/)
  })

  it('a lower token when no floor is kept', async () => {
    const scenario: Scenario<Referee> = {
      ...forgetting,
      actors: { S: sweeps, A: acquiresWith(storeWithoutFloor, 'a') },
      after: async () => {},
    }
    await expectUnsafe(scenario, /token \d+ after \d+/)
  })
})
