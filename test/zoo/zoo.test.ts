import { describe, expect, it } from 'vitest'
import { withoutAlarm } from '../in-process/tests.ts'
import { WORLDS } from '../sim/worlds.ts'
import { type CaughtBy, FAULTS, type Fault, saveFaults } from './faults.ts'
import { firstFailure } from './unit-test.ts'

/** `npm run zoo`: what notices a fault is looked for again where it is not noticed any more. */
const { UPDATE_ZOO } = process.env
const isUpdate = UPDATE_ZOO === '1'
const MOST_SEEDS = 300

type Planted = Omit<Fault, 'caughtBy'>

const faults: Fault[] = [...FAULTS]

describe('the zoo of planted faults', () => {
  it('has at least 60 faults, some of every part', () => {
    expect(FAULTS.length).toBeGreaterThanOrEqual(60)
    const names = FAULTS.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(new Set(FAULTS.map(({ part }) => part))).toEqual(
      new Set([
        ...['stores', 'manager', 'server', 'client', 'draft'],
        ...['once', 'sync', 'AutoSave', 'telemetry', 'command line'],
      ]),
    )
  })

  for (const [n, fault] of FAULTS.entries())
    it(`${fault.part}: notices ${fault.name}`, async () => {
      if (isUpdate) {
        faults[n] = { ...fault, caughtBy: await lookFor(fault) }
        saveFaults(faults)
      } else await expectCaught(fault)
    })
})

/** It passes without the fault, and fails with it. */
async function expectCaught(fault: Fault): Promise<void> {
  const { caughtBy } = fault
  if ('test' in caughtBy) {
    const { test, title } = caughtBy
    const isIt = (other: string) => other === title
    expect(await firstFailure(test, [], isIt)).toBeNull()
    expect(await firstFailure(test, [fault], isIt), 'nothing notices it: npm run zoo').not.toBeNull()
  } else {
    const { world } = caughtBy
    const seed = await firstSeed(world, fault)
    expect(await violationsOf(world, seed)).toEqual([])
  }
}

async function lookFor(fault: Fault): Promise<CaughtBy> {
  const { caughtBy, name } = fault
  if ('test' in caughtBy) {
    const { test } = caughtBy
    const failsAnyway = new Set<string>()
    const isChosen = (title: string) => !failsAnyway.has(title)
    for (
      let failure = await firstFailure(test, []);
      failure;
      failure = await firstFailure(test, [], isChosen)
    )
      failsAnyway.add(failure.title)
    const failure = await firstFailure(test, [fault], isChosen)
    if (!failure) throw new Error(`${test} does not notice ${name}`)
    return { test, title: failure.title }
  }
  const { world } = caughtBy
  return { world, seed: await firstSeed(world, { ...fault, caughtBy: { world, seed: 1 } }) }
}

/** The noted seed, or another one: a seed is another story after each change of the product. */
async function firstSeed(world: keyof typeof WORLDS, { caughtBy, ...fault }: Fault): Promise<number> {
  const noted = 'seed' in caughtBy ? caughtBy.seed : 1
  for (const seed of [noted, ...Array.from({ length: MOST_SEEDS }, (_, n) => n + 1)])
    if ((await violationsOf(world, seed, fault)).length > 0) return seed
  throw new Error(`${MOST_SEEDS} seeds do not notice ${fault.name}`)
}

async function violationsOf(
  world: keyof typeof WORLDS,
  seed: number,
  fault?: Planted,
): Promise<readonly string[]> {
  const { run } = await worldWith(world, fault)
  const { violations } = fault ? await withoutAlarm(() => run(seed)) : await run(seed)
  return violations
}

const worlds = new Map<string, ReturnType<(typeof WORLDS)[keyof typeof WORLDS]>>()

function worldWith(world: keyof typeof WORLDS, fault?: Planted) {
  const key = `${world} ${fault?.name ?? ''}`
  const known = worlds.get(key) ?? WORLDS[world](fault && [fault])
  worlds.set(key, known)
  return known
}
