import { beforeEach, describe, expect, it } from 'vitest'
import type { Ask, LeaseRecord, StoreEvent } from '../../core/index.ts'
import { FakeClock } from '../../testing/index.ts'
import { LocalListeners } from './listeners.ts'

let clock: FakeClock
let listeners: LocalListeners
let heard: string[]
beforeEach(() => {
  clock = new FakeClock()
  listeners = new LocalListeners(clock)
  heard = []
})

function request(id: string, wants: ('wake' | 'lost')[] = ['wake', 'lost']): Ask {
  return {
    ...{ resource: 'r', id, owner: 'Mika', ttl: 1000 },
    ...(wants.includes('wake') && { wake: (inMs: number) => heard.push(`${id} wake ${inMs}`) }),
    ...(wants.includes('lost') && { lost: () => heard.push(`${id} lost`) }),
  }
}

function asks(id: string, wants?: ('wake' | 'lost')[]): void {
  listeners.expect(request(id, wants))
}

function leaseOf(id: string, token: number, resource = 'r'): LeaseRecord {
  const times = { acquiredAt: 0, expiresAt: 1000, remaining: 1000 }
  return { resource, id, owner: 'Mika', token, metadata: null, share: null, ...times, state: 'held' }
}

function granted(id: string, token: number): void {
  listeners.granted(leaseOf(id, token))
}

describe('a waiter', () => {
  it('a waiter is woken, also after a repeated request without callbacks', () => {
    asks('a')
    asks('a', [])
    listeners.refused('a', true)
    listeners.wake('a', 1000)
    listeners.wakeAll()
    expect(heard).toEqual(['a wake 1000', 'a wake 0'])
  })

  it('a waiter is not woken once it was granted, or is not in the queue', () => {
    asks('a')
    asks('b')
    granted('a', 1)
    listeners.refused('b', false)
    for (const id of ['a', 'b']) listeners.wake(id, 0)
    expect(heard).toEqual([])
  })
})

describe('an answer that comes at once', () => {
  const refusal = (place: number | null) => ({ granted: false as const, holders: [], place, retryIn: 5 })

  it('an answer that comes at once makes a holder, or a waiter if it is in the queue', () => {
    listeners.answered(request('a'), { granted: true, lease: leaseOf('a', 5) })
    listeners.answered(request('b'), refusal(0))
    listeners.answered(request('c'), refusal(null))
    expect(listeners.heldOn('r')).toMatchObject([{ id: 'a', token: 5 }])
    expect(listeners.heldOn('other')).toEqual([])
    expect(listeners.waiting()).toEqual([{ id: 'b', resource: 'r' }])
    expect([listeners.isAwaited('r'), listeners.isAwaited('other')]).toEqual([true, false])
    expect([listeners.holds(leaseOf('a', 5)), listeners.holds(leaseOf('a', 4))]).toEqual([true, false])
  })

  it('an answer that comes at once has effects on others', () => {
    for (const id of ['a', 'b', 'c'])
      listeners.answered(request(id), { granted: true, lease: leaseOf(id, 5) })
    listeners.answered(request('d'), refusal(0))
    listeners.carryOut({
      wakes: new Map([['d', 7]]),
      changes: [
        { ...leaseOf('a', 5), state: 'released' },
        leaseOf('b', 5),
        { ...leaseOf('c', 4), state: 'expired' },
      ],
    })
    expect(heard).toEqual(['d wake 7', 'a lost'])
  })

  it('an answer that comes at once may come after the end of an earlier lease with the same id', () => {
    listeners.answered(request('a'), { granted: true, lease: leaseOf('a', 5) })
    listeners.carryOut({ wakes: new Map(), changes: [{ ...leaseOf('a', 5), state: 'expired' }] })
    listeners.answered(request('a'), { granted: true, lease: leaseOf('a', 6) })
    expect(heard).toEqual(['a lost'])
    listeners.ended('a', 6)
    expect(heard).toEqual(['a lost', 'a lost'])
  })
})

describe('a waiter that lost its place', () => {
  it('a waiter that lost its place is woken, and then forgotten unless it has asked again', () => {
    asks('a')
    listeners.dropped('a')
    listeners.dropped('none')
    expect([heard, listeners.waiting()]).toEqual([['a wake 0'], []])
    listeners.expect({ ...request('b'), wake: () => asks('b') })
    listeners.dropped('b')
    expect(listeners.waiting()).toEqual([{ id: 'b', resource: 'r' }])
  })
})

describe('a holder', () => {
  it('a holder hears once that its lease was ended', () => {
    asks('a')
    granted('a', 5)
    for (let n = 0; n < 2; n++) listeners.ended('a', 5)
    expect([heard, listeners.isNeeded]).toEqual([['a lost'], false])
  })

  it('hears of it though that came before the grant', () => {
    asks('a')
    listeners.ended('a', 5)
    expect(heard).toEqual([])
    granted('a', 5)
    expect(heard).toEqual(['a lost'])
  })

  it('a holder does not take the end of an earlier lease of its own for that of this one', () => {
    asks('a')
    granted('a', 5)
    asks('a')
    listeners.refused('a', true)
    listeners.ended('a', 5)
    granted('a', 6)
    listeners.ended('a', 5)
    expect([heard, listeners.held()]).toMatchObject([[], [{ id: 'a', token: 6 }]])
  })

  it('a holder does not take an end without a token for that of the next request', () => {
    asks('a')
    listeners.refused('a', true)
    listeners.ended('a', Infinity)
    asks('a')
    granted('a', 6)
    expect(heard).toEqual([])
  })

  it.each([
    ['a newer grant of another', 6, 'b', ['a lost']],
    ['its own lease with nobody in it', 5, null, ['a lost']],
    ['its own lease', 5, 'a', []],
    ['an older state', 4, 'b', []],
  ])('a holder judges what was observed: %s', (_, token, holder, told) => {
    asks('a')
    granted('a', 5)
    listeners.observed('r', token, holder === null ? [] : [holder])
    listeners.observed('other', 9, ['b'])
    expect(heard).toEqual(told)
  })

  it('a holder is judged also if it came after the first observation, and only once', () => {
    listeners.observed('r', 4, ['x'])
    asks('a')
    granted('a', 5)
    for (let n = 0; n < 2; n++) listeners.observed('r', 6, ['b'])
    expect(heard).toEqual(['a lost'])
  })

  it('a holder is checked after a gap', () => {
    for (const id of ['a', 'b', 'c']) {
      asks(id)
      granted(id, 5)
    }
    listeners.checkHeld(listeners.held(), [[leaseOf('a', 5)], []])
    expect(heard).toEqual(['b lost'])
  })

  it('a holder counts until its lease has expired, and longer if it was renewed', async () => {
    asks('a')
    granted('a', 5)
    await clock.advance(900)
    listeners.renewed(leaseOf('a', 5))
    await clock.advance(900)
    expect(listeners.isNeeded).toBe(true)
    await clock.advance(200)
    expect(listeners.isNeeded).toBe(false)
  })

  it('a holder is still told of its end after a repeated request that failed', () => {
    asks('a')
    granted('a', 5)
    asks('a')
    asks('b')
    for (const id of ['a', 'b']) listeners.failed(id)
    listeners.ended('a', 5)
    expect([heard, listeners.isNeeded]).toEqual([['a lost'], false])
  })

  it('a holder is forgotten after its lease has expired, though others hold theirs longer', async () => {
    for (const id of ['long', 'short']) {
      asks(id)
      granted(id, 5)
    }
    await clock.advance(900)
    listeners.renewed(leaseOf('long', 5))
    await clock.advance(900)
    expect(listeners.isNeeded).toBe(true)
    expect(listeners.held()).toMatchObject([{ id: 'long' }])
  })

  it('a holder is forgotten when it wants to hear of nothing, or was released', () => {
    asks('a', ['wake'])
    granted('a', 1)
    asks('b')
    granted('b', 2)
    expect(listeners.forget('b')).toMatchObject({ token: 2 })
    expect(listeners.forget('b')).toBeNull()
    expect(listeners.isNeeded).toBe(false)
  })
})

describe('a watcher', () => {
  it('hears of changes with its prefix, and of every gap, until it is disposed of', async () => {
    const events: StoreEvent[] = []
    listeners.watch(() => {
      throw new Error('listener')
    })
    const watch = listeners.watch((event) => events.push(event), 'r')
    const lease = leaseOf('a', 1, 'r:1')
    listeners.tellChange(lease)
    listeners.tellChange(leaseOf('a', 1, 'x'))
    listeners.tellGap()
    await watch[Symbol.asyncDispose]()
    listeners.tellGap()
    expect(events).toEqual([{ type: 'change', lease }, { type: 'gap' }])
  })
})
