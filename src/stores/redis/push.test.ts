import { beforeEach, describe, expect, it } from 'vitest'
import { Stop } from '../../base/abort.ts'
import type { RedisDatabase, SubscriberHooks } from '../../clients/redis.ts'
import { redisError } from '../../clients/redis-errors.ts'
import type { LeaseRecord, StoreEvent } from '../../core/index.ts'
import { FakeClock } from '../../testing/index.ts'
import { Calls } from '../local/calls.ts'
import { LocalListeners } from '../local/listeners.ts'
import { Batches } from './batches.ts'
import { SHARDS } from './names.ts'
import { WATCHED_MS } from './options.ts'
import { Push } from './push.ts'
import { packLease } from './rows.ts'

const ask = { resource: 'r', id: 'with space % and 美', owner: 'Mika', ttl: 60_000 }
const HELD = `F 5000000 4000000 1000999 2000000 ${packLease(ask, 'channel')}`
const lease: LeaseRecord = {
  resource: 'r',
  id: ask.id,
  owner: 'Mika',
  token: 5,
  metadata: null,
  share: null,
  acquiredAt: 0,
  expiresAt: 60_000,
  remaining: 60_000,
  state: 'held',
}

/** A server that answers announcements only, and counts the shards that were told. */
class FakeServer implements RedisDatabase {
  readonly cluster = false
  answer: 'known' | 'new' = 'new'
  error: Error | undefined
  told = 0
  readonly channels = new Set<string>()
  hooks: SubscriberHooks | undefined

  async evalSha(): Promise<never> {
    throw new Error('NOSCRIPT')
  }

  async eval(_: string, keys: string[]): Promise<unknown> {
    if (this.error) throw this.error
    this.told += keys.length
    const replies = keys.map(() => `1 ${this.answer}`)
    return keys.length === 1 ? replies[0] : replies
  }

  async publish(): Promise<void> {}

  async subscriber(hooks: SubscriberHooks) {
    if (this.error) throw this.error
    this.hooks = hooks
    return {
      subscribe: async (channel: string) => this.channels.add(channel),
      unsubscribe: async (channel: string) => this.channels.delete(channel),
      close: () => this.channels.clear(),
    }
  }
}

let clock: FakeClock
let server: FakeServer
let listeners: LocalListeners
let push: Push
let found: LeaseRecord[][]
beforeEach(() => {
  clock = new FakeClock()
  server = new FakeServer()
  listeners = new LocalListeners(clock)
  found = []
  push = new Push({
    prefix: 'p',
    redis: server,
    isCluster: false,
    batches: new Batches(server, 'p'),
    calls: new Calls({ backend: 'Redis', explain: redisError, clock }),
    listeners,
    read: async () => found,
    clock,
  })
})

function watch(on: (event: StoreEvent) => void = () => {}): Promise<AsyncDisposable> {
  return push.watch(on, undefined, new Stop())
}

describe('a watcher', () => {
  it('a watcher is announced to all shards before it hears anything, and again before the script forgets it', async () => {
    const watching = await watch()
    expect(server.told).toBe(SHARDS)
    await clock.advance(WATCHED_MS)
    expect(server.told).toBeGreaterThan(2 * SHARDS)
    await watching[Symbol.asyncDispose]()
    server.told = 0
    await clock.advance(WATCHED_MS)
    expect(server.told).toBe(0)
    expect(clock.pending).toBe(0)
  })

  it('hears of a gap when the script had forgotten it', async () => {
    const events: StoreEvent[] = []
    await watch((event) => events.push(event))
    expect(events).toEqual([])
    server.error = new Error('no connection')
    await clock.advance(WATCHED_MS / 3)
    expect(events).toEqual([])
    server.error = undefined
    await clock.advance(WATCHED_MS / 3)
    expect(events).toEqual([{ type: 'gap' }])
  })

  it('hears of a gap that the announcement of another watcher has found', async () => {
    const events: StoreEvent[] = []
    await watch((event) => events.push(event))
    await watch()
    expect(events).toEqual([{ type: 'gap' }])
    server.answer = 'known'
    await watch()
    expect(events).toHaveLength(1)
  })

  it('a watcher is not registered if it cannot be announced', async () => {
    await push.open()
    server.error = new Error('no connection')
    await expect(watch()).rejects.toThrow('no connection')
    expect(listeners.isWatched).toBe(false)
    expect(server.channels).toEqual(new Set([`p:wake:${push.channel}`]))
    await clock.advance(WATCHED_MS)
    expect(clock.pending).toBe(0)
  })

  it('a watcher is not registered if its caller has gone meanwhile', async () => {
    const stop = new Stop()
    const watching = push.watch(() => {}, undefined, stop)
    stop.abort(redisError(new Error('too late')))
    await expect(watching).rejects.toThrow('too late')
    expect(listeners.isWatched).toBe(false)
  })

  it('subscribes to changes, also on the next connection, until the last one has gone', async () => {
    const [one, two] = [await watch(), await watch()]
    server.hooks?.broken()
    expect(server.channels).toEqual(new Set())
    await clock.advance(100)
    expect(server.channels).toEqual(new Set(['p:changes', `p:wake:${push.channel}`]))
    await one[Symbol.asyncDispose]()
    expect(server.channels).toContain('p:changes')
    await two[Symbol.asyncDispose]()
    expect(server.channels).not.toContain('p:changes')
  })
})

describe('a message', () => {
  const heard: unknown[] = []
  beforeEach(async () => {
    heard.length = 0
    listeners.expect({ ...ask, wake: (inMs) => heard.push(inMs), lost: () => heard.push('lost') })
    await watch((event) => heard.push(event))
  })
  const receive = (text: string, channel = `p:wake:${push.channel}`) => server.hooks?.message(channel, text)

  it('a message wakes a waiter, or tells a holder of its loss, whatever its id contains', () => {
    receive(`wake 1000 ${encodeURIComponent(ask.id)}`)
    listeners.granted(lease)
    receive(`lost 5 ${encodeURIComponent(ask.id)}`)
    expect(heard).toEqual([1000, 'lost'])
  })

  it('a message reports a change as it was when it happened', () => {
    receive(`held ${HELD}`, 'p:changes')
    expect(heard).toMatchObject([
      { type: 'change', lease: { id: ask.id, token: 5_000_000, expiresAt: 62_000, remaining: 60_000 } },
    ])
  })

  it.each(['', 'wake', 'wake soon a', 'wake 0', 'wake 0 %', 'other 0 a', 'lost'])(
    'is skipped: %j',
    (text) => {
      receive(text)
      expect(heard).toEqual([])
    },
  )

  it.each(['', 'held', 'held F 1 2 3', 'held F 1 1 1 1 1 c x {}', `other ${HELD}`])(
    'is skipped as a change: %j',
    (text) => {
      receive(text, 'p:changes')
      expect(heard).toEqual([])
    },
  )
})

describe('an opened connection', () => {
  it('an opened connection makes up for what was missed: waiters ask again, watchers hear of a gap, held leases are read', async () => {
    const heard: unknown[] = []
    listeners.expect({ ...ask, id: 'waiter', wake: (inMs) => heard.push(`wake ${inMs}`) })
    listeners.expect({ ...ask, lost: () => heard.push('lost') })
    await watch(({ type }) => heard.push(type))
    listeners.granted(lease)
    found = [[{ ...lease, id: 'another' }]]
    server.hooks?.broken()
    await clock.advance(100)
    expect(heard).toEqual(['wake 0', 'gap', 'lost'])
  })

  it('an opened connection reads held leases also the first time, because they may have ended before it was open', async () => {
    let lost = 0
    listeners.expect({ ...ask, lost: () => lost++ })
    listeners.granted(lease)
    push.openForHolder(lease)
    found = [[]]
    await clock.advance(1000)
    expect(lost).toBe(1)
  })
})
