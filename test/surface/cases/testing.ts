import assert from 'node:assert/strict'
import { createLeases } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { registerStore } from 'holdfast/store-kit'
import {
  chaosStore,
  describeStore,
  FakeClock,
  type Faults,
  mutateStore,
  skewDate,
  storeMistakes,
} from 'holdfast/testing'
import { fakeBrowserCase } from './fake-browser.ts'
import { MapRegisters } from './registers.ts'
import { storeCase } from './store.ts'
import { runner, runSuite, withGlobals } from './suite.ts'

const ASK = { resource: 'r', id: 'a', owner: 'surface', ttl: 60_000 }

/** Clocks, faults, the suite for stores and the fake browser, as docs/testing.md uses them. */
export async function testingCase(): Promise<void> {
  await movesClock()
  await losesConnection()
  await storeCase(() => chaosStore(memoryStore()))
  await strikes()
  await catchesMistake()
  await fakeBrowserCase()
  await runSuite('stores', () => {
    withGlobals(() => describeStore('memory', { create: async () => ({ store: memoryStore() }) }))
    describesRegisters()
  })
}

async function movesClock(): Promise<void> {
  const clock = new FakeClock()
  const ran: string[] = []
  const cancel = clock.setTimer(() => ran.push('cancelled'), 1000)
  clock.setTimer(() => ran.push('due'), 1000)
  cancel()
  const [before, wall] = [clock.monotonic(), clock.now()]
  await clock.advance(1000)
  assert.deepEqual([ran, clock.pending], [['due'], 0])
  assert.equal(Math.round(clock.monotonic() - before), 1000)
  clock.jump(-1000)
  assert.equal(clock.now(), wall)
  assert(clock.random() < 1)
  assert.equal(new FakeClock(5000).now(), 5000)

  const setRight = skewDate(60_000)
  assert(Date.now() > wallTime() + 30_000)
  setRight()
}

/** `performance` is not skewed with `Date`. */
function wallTime(): number {
  return performance.timeOrigin + performance.now()
}

async function losesConnection(): Promise<void> {
  const clock = new FakeClock()
  const store = chaosStore(memoryStore({ clock }), { clock })
  const leases = createLeases(store, { clock })
  const lease = await leases.acquire('r', { ttl: 3000 })
  store.faults = { loseRequest: 1 }
  await clock.advance(3000)
  assert.equal(lease.signal.aborted, true)
}

/** Each fault, and whether the lease is held in the store after an acquire. */
async function strikes(): Promise<void> {
  const faults: readonly (readonly [Faults, boolean])[] = [
    [{ loseRequest: 1 }, false],
    [{ loseAnswer: 1 }, true],
    [{ failBefore: 1 }, false],
    [{ failAfter: 1 }, true],
    [{ duplicate: 1, failBefore: 1 }, true],
    [{ delay: ['1s', 2000] }, false],
    [{ staleRead: 1, losePush: 1 }, true],
  ]
  for (const [fault, isHeld] of faults) {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    const chaos = chaosStore(store, { faults: fault, clock, random: () => 0 })
    assert.deepEqual(chaos.faults, fault)
    if (fault.staleRead) await chaos.read(['r'])
    chaos.acquire(ASK).catch(() => {})
    await clock.advance(10)
    const [held] = await store.read(['r'])
    assert.equal(held?.length, isHeld ? 1 : 0, JSON.stringify(fault))
    if (fault.staleRead) assert.deepEqual(await chaos.read(['r']), [[]])
  }
}

/** A case of the suite fails on a store with a mistake, and passes on the store without it. */
async function catchesMistake(): Promise<void> {
  const [found] = storeMistakes()
  assert(found)
  for (const hasMistake of [false, true]) {
    const cases = new Map<string, () => Promise<void>>()
    describeStore('a store', {
      runner: {
        describe: (_, body) => body(),
        it: (title, body) => cases.set(title, body),
      },
      create: async () => {
        const clock = new FakeClock()
        const store = memoryStore({ clock })
        return { clock, store: hasMistake ? mutateStore(store, found.mistake) : store }
      },
      pass: ({ clock }, ms) => clock.advance(ms),
      stepClock: ({ clock }, ms) => clock.jump(ms),
    })
    const run = cases.get(found.caughtBy)
    assert(run, found.caughtBy)
    if (hasMistake) await assert.rejects(run(), /The calls of this case/)
    else await run()
  }
}

/** The suite with every option. */
function describesRegisters(): void {
  describeStore('registers', {
    runner,
    supports: { queue: false },
    ttl: '300ms',
    contention: 50,
    create: async () => {
      const clock = new FakeClock()
      const registers = new MapRegisters(clock)
      const open = () => registerStore(registers, { kind: 'map', backend: 'Map', clock })
      return { clock, registers, open, store: open(), peer: open(), dispose: async () => {} }
    },
    pass: ({ clock }, ms) => clock.advance(ms),
    stepClock: ({ clock }, ms) => clock.jump(ms),
    skewCaller: (_, ms) => skewDate(ms),
    reopen: async ({ open }) => open(),
    outage: async ({ registers }) => {
      registers.isDown = true
      return async () => {
        registers.isDown = false
      }
    },
    interruptWatch: async ({ registers }) => registers.interrupt(),
  })
}
