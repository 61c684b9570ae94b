import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { connect, type Network, open } from '../../test/server/page-network.ts'
import { type ServiceBed, serviceBed } from '../../test/server/service-bed.ts'
import { FakeClock } from '../testing/index.ts'
import { watchIdleHolder } from './idle-holder.ts'
import { createLockView, type LockView } from './lock-view.ts'

const IDLE_MS = 300_000
const REQUEST = {
  id: 'r',
  name: 'Aoi',
  kind: 'request',
  until: 15_000,
  isOwn: false,
  passes: [],
  postponedUntil: null,
} as const

afterEach(() => vi.unstubAllGlobals())

describe('a holder without input', () => {
  let clock: FakeClock
  let view: LockView
  let touch: () => void
  let page: EventTarget
  const handOver = vi.fn<() => Promise<unknown>>()
  let idleAfterMs: number | undefined
  beforeEach(() => {
    clock = new FakeClock(0)
    view = createLockView(clock)
    page = new EventTarget()
    vi.stubGlobal('document', page)
    idleAfterMs = IDLE_MS
    handOver.mockReset().mockResolvedValue(undefined)
    touch = watchIdleHolder({ clock, view, idleAfterMs: () => idleAfterMs, handOver })
    view.dispatch({ type: 'granted', token: 7 })
  })
  const wait = (waiting: number) =>
    view.dispatch({ type: 'queue', queue: { waiting, waiters: [] }, place: null })

  it('a holder without input is asked when somebody waits, hands over after 30 s, and the state says so', async () => {
    wait(1)
    await clock.advance(IDLE_MS - 1)
    expect(view.state.idle).toBeNull()
    await clock.advance(1)
    expect(view.state.idle).toEqual({ until: IDLE_MS + 30_000, isOver: false })
    await clock.advance(29_999)
    expect(handOver).not.toHaveBeenCalled()
    await clock.advance(1)
    expect(handOver).toHaveBeenCalledTimes(1)
    expect(view.state.idle).toMatchObject({ isOver: true })
  })

  it('a holder without input keeps the lock for hours while nobody wants it, and is asked as soon as somebody does', async () => {
    await clock.advance(10 * IDLE_MS)
    expect(view.state.idle).toBeNull()
    wait(1)
    expect(view.state.idle).toMatchObject({ isOver: false })
    wait(0)
    expect(view.state.idle).toBeNull()
    await clock.advance(10 * IDLE_MS)
    expect(handOver).not.toHaveBeenCalled()
  })

  it.each(['keydown', 'pointerdown', 'pointermove', 'wheel', 'input', 'touch()'])(
    'keeps the lock by %s, and is asked again only after the whole time',
    async (input) => {
      wait(1)
      await clock.advance(IDLE_MS + 29_000)
      if (input === 'touch()') touch()
      else page.dispatchEvent(new Event(input))
      expect(view.state.idle).toBeNull()
      await clock.advance(IDLE_MS - 1)
      expect(view.state.idle).toBeNull()
      expect(handOver).not.toHaveBeenCalled()
      await clock.advance(1)
      expect(view.state.idle).not.toBeNull()
    },
  )

  it('answers a request before its time is over', async () => {
    await clock.advance(IDLE_MS)
    view.change({ request: { ...REQUEST, until: clock.now() + 15_000 } })
    await clock.advance(11_999)
    expect(handOver).not.toHaveBeenCalled()
    await clock.advance(1)
    expect(handOver).toHaveBeenCalledTimes(1)
  })

  it('a holder without input is not asked because of a request that it has postponed, of its own tab, or of a takeover', async () => {
    await clock.advance(IDLE_MS)
    view.change({ request: { ...REQUEST, postponedUntil: 1 } })
    view.change({ request: { ...REQUEST, isOwn: true } })
    view.change({ request: { ...REQUEST, kind: 'takeover' } })
    expect(view.state.idle).toBeNull()
  })

  it('a holder without input is asked again if the lock could not be handed over', async () => {
    handOver.mockRejectedValueOnce(new Error('no connection'))
    wait(1)
    await clock.advance(IDLE_MS + 30_000)
    await eventually(() => expect(view.state.idle).toMatchObject({ isOver: false }))
    await clock.advance(30_000)
    expect(handOver).toHaveBeenCalledTimes(2)
  })

  it('a holder without input is never asked without the option', async () => {
    idleAfterMs = undefined
    wait(1)
    await clock.advance(10 * IDLE_MS)
    expect(view.state.idle).toBeNull()
  })

  it('a holder without input begins anew with the next grant, and hears no input while it has no lock', async () => {
    wait(1)
    await clock.advance(IDLE_MS)
    view.dispatch({ type: 'released' })
    expect(view.state.idle).toBeNull()
    page.dispatchEvent(new Event('keydown'))
    await clock.advance(IDLE_MS)
    view.dispatch({ type: 'granted', token: 8 })
    await clock.advance(IDLE_MS - 1)
    expect(view.state.idle).toBeNull()
  })
})

describe('a page whose user went to lunch', () => {
  let bed: ServiceBed
  let network: Network
  beforeEach(async () => {
    bed = await serviceBed()
    network = connect(bed)
  })
  afterEach(() => bed[Symbol.asyncDispose]())

  it('saves, and the next one in the queue has the lock and the last words', async () => {
    await using lock = open(bed, { idleAfter: '2s' })
    expect(await lock.acquire()).toBe(true)
    lock.beforeRelease(() => lock.save('the last words'))
    const next = bed.browser('next')
    await next.call('GET', '/api/documents/room-1/lock')
    const pass = async (check: () => unknown) =>
      eventually(async () => {
        if (network.unanswered === 0) await bed.clock.advance(1000)
        await check()
      })
    await pass(() => expect(bed.clock.now()).toBeGreaterThan(Date.UTC(2030, 0, 1, 12, 0, 3)))
    expect(lock.state).toMatchObject({ held: true, idle: null })
    const turn = next.call('POST', '/api/documents/room-1/lock?wait=50')
    await pass(() => expect(lock.state.idle).toMatchObject({ isOver: false }))
    await pass(() => expect(lock.state.idle).toMatchObject({ isOver: true }))
    expect((await turn).status).toBe(200)
    expect((await next.call('GET', '/api/documents/room-1')).body.content).toBe('the last words')
    await pass(() => expect(lock.state).toMatchObject({ held: false, phase: 'read-only' }))
  })
})
