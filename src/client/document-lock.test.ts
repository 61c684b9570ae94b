import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { connect, type Network, open, withinThreeSeconds } from '../../test/server/page-network.ts'
import { ADMIN_TOKEN, type Browser, type ServiceBed, serviceBed } from '../../test/server/service-bed.ts'
import { FakeClock } from '../testing/index.ts'
import {
  createDocumentLock,
  type DocumentLock,
  type DocumentLockOptions,
  type DocumentLockRoomOptions,
  followContent,
} from './index.ts'

const LOCK = '/api/documents/room-1/lock'
const RESOURCE = 'document:room-1'
const TTL_MS = 30_000
const HEARTBEAT_MS = 10_000
const GRACE_MS = 5000

afterEach(() => vi.unstubAllGlobals())

describe('a lock that nobody wants any more', () => {
  let bed: ServiceBed
  let network: Network
  let holder: Browser
  let lock: DocumentLock
  beforeEach(async () => {
    bed = await serviceBed()
    holder = bed.browser('holder')
    network = connect(bed)
    lock = open(bed)
    await eventually(() => expect(lock.state.me).not.toBeNull())
  })
  afterEach(async () => {
    await lock.close()
    await bed[Symbol.asyncDispose]()
  })

  const holders = () => bed.store.read([RESOURCE])
  const isWaiting = async () =>
    expect((await holder.call('GET', LOCK)).body).toMatchObject({ waiting: [{ name: 'Ken' }] })

  it('a lock that nobody wants any more is not granted when the wait was given up just before the lock became free', async () => {
    await holder.call('POST', LOCK)
    const waiting = lock.acquire({ wait: Infinity })
    await eventually(isWaiting)
    await lock.release()
    expect(await waiting).toBe(false)
    await holder.call('DELETE', LOCK)
    for (let passed = 0; passed < TTL_MS; passed += 1000) {
      await bed.clock.advance(1000)
      expect(await holders()).toEqual([[]])
    }
    expect((await bed.browser('other').call('POST', LOCK)).status).toBe(200)
  })

  it('a lock that nobody wants any more is given back when the store grants it while it is given up', async () => {
    await holder.call('POST', LOCK)
    const waiting = lock.acquire({ wait: Infinity })
    await eventually(isWaiting)
    const { promise: decided, resolve: decide } = Promise.withResolvers<void>()
    const acquire = bed.store.acquire.bind(bed.store)
    const asking = vi.spyOn(bed.store, 'acquire').mockImplementation(async (...args) => {
      await decided
      return acquire(...args)
    })
    await holder.call('DELETE', LOCK)
    await eventually(() => expect(asking).toHaveBeenCalled())
    await lock.release()
    decide()
    expect(await waiting).toBe(false)
    await eventually(async () => expect(await holders()).toEqual([[]]))
  })

  it('a lock that nobody wants any more is given back when its grant arrives after it was given up, and the withdrawal did not', async () => {
    const { promise: delayed, resolve: deliver } = Promise.withResolvers<void>()
    network.onResponse = (request) => (request === `POST ${LOCK}` ? delayed : undefined)
    network.onRequest = (request) => {
      if (request === `DELETE ${LOCK}`) throw new TypeError('network error')
    }
    const acquiring = lock.acquire()
    await eventually(async () => expect(await holders()).toMatchObject([[{ state: 'held' }]]))
    await lock.release()
    expect(await acquiring).toBe(false)
    deliver()
    await eventually(async () => expect(await holders()).toEqual([[]]))
  })

  it('a lock that nobody wants any more is given back when the withdrawal overtakes the request', async () => {
    const { promise: delayed, resolve: deliver } = Promise.withResolvers<void>()
    network.onRequest = (request) => (request === `POST ${LOCK}` ? delayed : undefined)
    const acquiring = lock.acquire()
    await eventually(() => expect(network.sent).toContain(`POST ${LOCK}`))
    await lock.release()
    expect(await acquiring).toBe(false)
    deliver()
    await eventually(() => expect(network.sent).toContain(`POST ${LOCK}/release`))
    await eventually(async () => expect(await holders()).toEqual([[]]))
  })

  it('a short wait gets a free lock also from a slow server', async () => {
    const { promise: delayed, resolve: deliver } = Promise.withResolvers<void>()
    network.onResponse = (request) => (request === `POST ${LOCK}` ? delayed : undefined)
    const acquiring = lock.acquire({ wait: 10 })
    await eventually(async () => expect(await holders()).toMatchObject([[{ state: 'held' }]]))
    await bed.clock.advance(900)
    deliver()
    expect(await acquiring).toBe(true)
  })

  it('a lock that is granted more than a second after a short wait is given back', async () => {
    const { promise: delayed, resolve: deliver } = Promise.withResolvers<void>()
    network.onResponse = (request) => (request === `POST ${LOCK}` ? delayed : undefined)
    const acquiring = lock.acquire({ wait: 10 })
    await eventually(async () => expect(await holders()).toMatchObject([[{ state: 'held' }]]))
    await bed.clock.advance(1001)
    expect(await acquiring).toBe(false)
    deliver()
    await eventually(async () => expect(await holders()).toEqual([[]]))
    expect(lock.state.held).toBe(false)
  })

  it('a save of somebody who is not the holder any more rejects with lease-lost', async () => {
    let headers: Record<string, string> = { authorization: `Bearer ${ADMIN_TOKEN}` }
    const own = open(bed, { headers: () => headers, clientId: 'own' })
    expect(await own.acquire()).toBe(true)
    headers = {}
    await expect(own.save('text')).rejects.toMatchObject({ code: 'lease-lost' })
    // At once: a draft that believes that it may save would try again and again.
    expect(own.state.held).toBe(false)
    await own.close()
  })

  it('a lock whose grant arrives after its deadline is given back, because the machine slept meanwhile', async () => {
    const { promise: delayed, resolve: deliver } = Promise.withResolvers<void>()
    network.onResponse = (request) => (request === `POST ${LOCK}` ? delayed : undefined)
    const acquiring = lock.acquire()
    await eventually(async () => expect(await holders()).toMatchObject([[{ state: 'held' }]]))
    bed.clock.jump(TTL_MS * 0.99)
    deliver()
    expect(await acquiring).toBe(false)
    await eventually(async () => expect(await holders()).toEqual([[]]))
    expect(lock.state.phase).toBe('idle')
  })

  it('a wait goes on when its grant arrives after the deadline, because the machine slept meanwhile', async () => {
    const { promise: delayed, resolve: deliver } = Promise.withResolvers<void>()
    network.onResponse = (request) => (request === `POST ${LOCK}` ? delayed : undefined)
    const acquiring = lock.acquire({ wait: Infinity })
    await eventually(async () => expect(await holders()).toMatchObject([[{ state: 'held' }]]))
    bed.clock.jump(TTL_MS * 0.99)
    deliver()
    expect(await acquiring).toBe(true)
    expect(lock.state).toMatchObject({ phase: 'held', held: true })
  })

  it('a takeover whose grant arrives after its deadline is given back, because the machine slept meanwhile', async () => {
    await holder.call('POST', LOCK)
    const { promise: delayed, resolve: deliver } = Promise.withResolvers<void>()
    // When the holder has saved, the client asks once more, for a deadline that counts from then.
    network.onResponse = (request) => (request === `POST ${LOCK}` ? delayed : undefined)
    const taking = lock.takeover()
    await eventually(async () => {
      await bed.clock.advance(1000)
      expect(network.sent).toContain(`POST ${LOCK}`)
    })
    bed.clock.jump(TTL_MS * 0.99)
    deliver()
    expect(await taking).toBe(false)
    await eventually(async () => expect(await holders()).toEqual([[]]))
    expect(lock.state).toMatchObject({ held: false, demand: 'failed' })
  })

  it('a refusal that arrives after the wait was given up does not show that this tab waits', async () => {
    await holder.call('POST', LOCK)
    const { promise: delayed, resolve: deliver } = Promise.withResolvers<void>()
    network.onResponse = (request) => (request === `POST ${LOCK}` ? delayed : undefined)
    const acquiring = lock.acquire({ wait: 2000 })
    await eventually(() => expect(network.sent).toContain(`POST ${LOCK}`))
    await bed.clock.advance(2000)
    expect(await acquiring).toBe(false)
    const phases: string[] = []
    lock.subscribe(() => phases.push(lock.state.phase))
    deliver()
    await eventually(() => expect(phases).not.toEqual([]))
    await bed.clock.advance(10)
    expect(new Set(phases)).toEqual(new Set(['read-only']))
  })

  it('a lock that nobody wants any more is given up when the response to the request was lost', async () => {
    network.onResponse = (request) => {
      if (request === `POST ${LOCK}`) throw new TypeError('network error')
    }
    expect(await lock.acquire()).toBe(false)
    expect(lock.state).toMatchObject({ phase: 'error', error: { code: 'store-unavailable' } })
    await eventually(async () => expect(await holders()).toEqual([[]]))
  })

  it('a lock that nobody wants any more is given back though an earlier lock of the tab was lost', async () => {
    await lock.acquire()
    await bed.store.release({ resource: RESOURCE, token: lock.state.token ?? 0 })
    await bed.clock.advance(TTL_MS)
    await eventually(() => expect(lock.state.phase).toBe('lost'))
    const { promise: delayed, resolve: deliver } = Promise.withResolvers<void>()
    network.onResponse = (request) => (request === `POST ${LOCK}` ? delayed : undefined)
    const first = lock.acquire()
    await eventually(async () => expect(await holders()).toMatchObject([[{ state: 'held' }]]))
    network.onRequest = (request) => {
      if (request === `POST ${LOCK}`) throw new TypeError('network error')
    }
    // It replaces the first one, and fails.
    expect([await lock.acquire(), await first]).toEqual([false, false])
    deliver()
    await eventually(async () => expect(await holders()).toEqual([[]]))
  })

  it('a lock that nobody wants any more is not taken over when the takeover was given up', async () => {
    await holder.call('POST', LOCK)
    const heard = bed.socket('room-1')
    const taking = lock.takeover()
    await eventually(() => expect(heard.at(-1)?.event).toBe('document.takeover-requested'))
    await lock.release()
    expect(await taking).toBe(false)
    await bed.clock.advance(2 * GRACE_MS)
    expect((await holder.call('PUT', LOCK)).status).toBe(200)
  })

  it('a lock that nobody wants any more is kept by a second call that replaced the first one', async () => {
    const { promise: delayed, resolve: deliver } = Promise.withResolvers<void>()
    let posts = 0
    network.onResponse = (request) => (request === `POST ${LOCK}` && posts++ === 0 ? delayed : undefined)
    const first = lock.acquire()
    await eventually(async () => expect(await holders()).toMatchObject([[{ state: 'held' }]]))
    expect(await lock.acquire()).toBe(true)
    deliver()
    expect(await first).toBe(false)
    // By then it would have been given back.
    await lock.save('text')
    expect(network.sent).not.toContain(`POST ${LOCK}/release`)
    expect(await holders()).toMatchObject([[{ token: lock.state.token }]])
  })
})

describe('a problem while this tab edits', () => {
  let bed: ServiceBed
  let network: Network
  let lock: DocumentLock
  let authorization: string
  beforeEach(async () => {
    authorization = `Bearer ${ADMIN_TOKEN}`
    bed = await serviceBed()
    network = connect(bed)
    lock = open(bed, { headers: async () => ({ authorization }) })
    expect(await lock.acquire()).toBe(true)
  })
  afterEach(async () => {
    await lock.close()
    await bed[Symbol.asyncDispose]()
  })

  it('a problem while this tab edits is shown when the server does not answer a heartbeat in time, long before the lock expires', async () => {
    network.onRequest = () => new Promise(() => {})
    await bed.clock.advance(HEARTBEAT_MS)
    expect(lock.state.phase).toBe('held')
    await bed.clock.advance(TTL_MS / 15)
    expect(lock.state).toMatchObject({ phase: 'troubled', held: true, error: null })
    network.onRequest = () => {}
    // The next heartbeat is answered.
    await bed.clock.advance(TTL_MS / 6)
    await eventually(() => expect(lock.state).toMatchObject({ phase: 'held', held: true }))
  })

  it('a problem while this tab edits is shown at once when a heartbeat fails, and is over after the next one', async () => {
    network.onRequest = (request) => failIf(request.startsWith('PUT'))
    await bed.clock.advance(HEARTBEAT_MS)
    await eventually(() => expect(lock.state).toMatchObject({ phase: 'troubled', held: true }))
    expect(lock.state.error).toMatchObject({ code: 'store-unavailable' })
    network.onRequest = () => {}
    await bed.clock.advance(1000)
    await eventually(() => expect(lock.state).toMatchObject({ phase: 'held', error: null }))
  })

  it('a problem while this tab edits is shown when a save fails, until the lock was renewed', async () => {
    const { promise: renewed, resolve: renew } = Promise.withResolvers<void>()
    network.onRequest = (request) => (request === `PUT ${LOCK}` ? renewed : failIf(request.startsWith('PUT')))
    await expect(lock.save('text')).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(lock.state).toMatchObject({ phase: 'troubled', held: true })
    renew()
    await eventually(() => expect(lock.state.phase).toBe('held'))
  })

  it('a problem while this tab edits ends as a loss when the server stays silent until the deadline', async () => {
    network.onRequest = () => new Promise(() => {})
    await bed.clock.advance(TTL_MS)
    expect(lock.state).toMatchObject({ phase: 'lost', held: false })
  })

  it('a problem while this tab edits is signed-out after a 401; the lock is kept, and continues with the next token', async () => {
    authorization = 'Bearer an-expired-token'
    await bed.clock.advance(HEARTBEAT_MS)
    await eventually(() => expect(lock.state).toMatchObject({ phase: 'signed-out', held: true }))
    const { token } = lock.state
    authorization = `Bearer ${ADMIN_TOKEN}`
    await bed.clock.advance(5000)
    await eventually(() => expect(lock.state).toMatchObject({ phase: 'held', held: true, token }))
    await lock.save('text')
  })
})

describe('a page that is opened while there is no server', () => {
  it('a page that is opened while there is no server says so with an error, until the server answers', async () => {
    await using bed = await serviceBed()
    const network = connect(bed)
    network.onRequest = () => Promise.reject(new TypeError('no network'))
    await using lock = open(bed)
    await eventually(() =>
      expect(lock.state).toMatchObject({
        phase: 'idle',
        me: null,
        connected: false,
        error: { code: 'store-unavailable' },
      }),
    )
    network.onRequest = () => {}
    await withinThreeSeconds(bed, network, () =>
      expect(lock.state).toMatchObject({ phase: 'idle', connected: true, error: null }),
    )
    expect(lock.state.me).not.toBeNull()
  })
})

describe('headers', () => {
  let bed: ServiceBed
  beforeEach(async () => {
    bed = await serviceBed()
    connect(bed)
  })
  afterEach(() => bed[Symbol.asyncDispose]())

  it('headers may be a promise', async () => {
    const headers = Promise.resolve({ authorization: `Bearer ${ADMIN_TOKEN}` })
    await using lock = open(bed, { headers })
    expect(await lock.acquire()).toBe(true)
  })

  it('headers with an unknown token are signed-out, also for a reader, until a token is known', async () => {
    let authorization = 'Bearer unknown'
    await using lock = open(bed, { headers: () => ({ authorization }) })
    await eventually(() => expect(lock.state).toMatchObject({ phase: 'signed-out', held: false }))
    expect(await lock.acquire()).toBe(false)
    expect(lock.state.phase).toBe('signed-out')
    authorization = `Bearer ${ADMIN_TOKEN}`
    await bed.clock.advance(5000)
    await eventually(() => expect(lock.state.phase).toBe('idle'))
  })

  it('headers that HTTP cannot carry are refused, and a function that fails is retryable', async () => {
    await using wrong = open(bed, { headers: () => ({ a: '€' }) })
    expect(await wrong.acquire()).toBe(false)
    expect(wrong.state).toMatchObject({ phase: 'error', error: { code: 'invalid-argument' } })
    const headers = () => Promise.reject(new Error('no token now'))
    await using failing = open(bed, { headers, clientId: 'another-tab' })
    expect(await failing.acquire()).toBe(false)
    expect(failing.state.error).toMatchObject({ code: 'store-unavailable', message: 'headers: no token now' })
  })
})

describe('without a WebSocket', () => {
  it('shows the place in the queue, and sees within three seconds that the lock is free', async () => {
    await using bed = await serviceBed()
    const network = connect(bed)
    const holder = bed.browser('holder')
    await holder.call('POST', LOCK)
    await using waiter = open(bed, { clientId: 'waiter' })
    await using reader = open(bed, { clientId: 'reader' })
    const waiting = waiter.acquire({ wait: Infinity })
    await eventually(() => expect(waiter.state.phase).toBe('waiting'))
    await withinThreeSeconds(bed, network, () => {
      expect(waiter.state.place).toBe(0)
      expect(reader.state).toMatchObject({ phase: 'read-only', waiting: 1 })
    })
    await waiter.release()
    expect(await waiting).toBe(false)
    await holder.call('DELETE', LOCK)
    await withinThreeSeconds(bed, network, () =>
      expect(reader.state).toMatchObject({ phase: 'idle', connected: true }),
    )
  })

  it('sees within three seconds that another tab asks for the lock', async () => {
    await using bed = await serviceBed()
    const network = connect(bed)
    await using lock = open(bed)
    expect(await lock.acquire()).toBe(true)
    const heard = bed.socket('room-1')
    const asking = bed.browser('other').call('POST', `${LOCK}/request`, { name: 'Aoi' })
    await eventually(() => expect(heard).toMatchObject([{ event: 'document.takeover-requested' }]))
    await withinThreeSeconds(bed, network, () => expect(lock.state.request).toMatchObject({ name: 'Aoi' }))
    await lock.answer(false)
    expect((await asking).body.error).toBe('handover_declined')
    expect(lock.state.request).toBeNull()
  })

  it('a postponed request for a handoff survives a proxy that ends long requests, and the holder is asked once', async () => {
    await using bed = await serviceBed()
    const network = connect(bed)
    await using lock = open(bed, { name: 'Aoi' })
    const holder = bed.browser('holder')
    await holder.call('POST', LOCK)
    const heard = bed.socket('room-1')
    let cut = 0
    network.onResponse = (request) => {
      if (request === `POST ${LOCK}/request` && cut++ % 2 === 0) throw new TypeError('cut by a proxy')
    }
    const asking = lock.requestHandoff()
    await eventually(() => expect(heard.at(-1)?.event).toBe('document.takeover-requested'))
    const { request_id } = Object(heard.at(-1)?.data)
    await holder.call('POST', `${LOCK}/request/answer`, { request_id, postpone_ms: 120_000 })
    await eventually(async () => {
      await bed.clock.advance(1000)
      await holder.call('PUT', LOCK)
      expect(lock.state.demand).toBe('postponed')
      expect(cut).toBeGreaterThan(4)
    })
    await holder.call('POST', `${LOCK}/request/answer`, { request_id, granted: true })
    network.onResponse = () => {}
    expect(await asking).toBe(true)
    expect(heard.filter(({ event }) => event === 'document.takeover-requested')).toHaveLength(1)
  })

  it('tells the developer of a page, once', async () => {
    await using bed = await serviceBed()
    const network = connect(bed)
    vi.stubGlobal('document', Object.assign(new EventTarget(), { hidden: false, visibilityState: 'visible' }))
    vi.stubGlobal('window', new EventTarget())
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    await using first = open(bed, { clientId: 'first' })
    await eventually(() => expect(first.state.me).not.toBeNull())
    await eventually(async () => {
      await bed.clock.advance(10_000)
      expect(network.sockets).toBeGreaterThan(3)
    })
    await eventually(() => expect(warn).toHaveBeenCalled())
    expect(warn.mock.calls).toEqual([
      [expect.stringContaining('no WebSocket opens at ws://holdfast.test/app/')],
    ])
  })

  it('a page without a WebSocket sees within three seconds that the lock is free, also if the server refuses the channel', async () => {
    await using bed = await serviceBed()
    const network = connect(bed)
    const { sent } = network
    vi.stubGlobal('WebSocket', RefusingSocket)
    const holder = bed.browser('holder')
    await holder.call('POST', LOCK)
    await using reader = open(bed, { clientId: 'reader' })
    await eventually(() => expect(reader.state).toMatchObject({ phase: 'read-only' }))
    await eventually(() => expect(RefusingSocket.refused).toBe(true))
    const reads = () => sent.filter((name) => name.startsWith('GET')).length
    for (const before of [reads(), reads() + 1, reads() + 2]) {
      await withinThreeSeconds(bed, network, () => expect(reads()).toBeGreaterThan(before))
    }
    await holder.call('DELETE', LOCK)
    await withinThreeSeconds(bed, network, () => expect(reader.state).toMatchObject({ phase: 'idle' }))
  })

  it('shows within three seconds what another tab has saved', async () => {
    await using bed = await serviceBed()
    const network = connect(bed)
    const holder = bed.browser('holder')
    const { token } = (await holder.call('POST', LOCK)).body
    await using reader = open(bed)
    await using saved = followContent(reader)
    await eventually(() => expect(saved.state).toMatchObject({ content: null, isLoaded: true }))
    await holder.call('PUT', '/api/documents/room-1', { content: 'second', token })
    await withinThreeSeconds(bed, network, () => expect(saved.state.content).toBe('second'))
  })
})

/** The socket of a server that does not allow the channel. */
class RefusingSocket {
  static refused = false
  readonly readyState = 1
  onmessage: ((message: { data: string }) => void) | undefined

  constructor() {
    setTimeout(() => this.#say('pusher:connection_established', { socket_id: '1.1', activity_timeout: 600 }))
  }

  send(text: string) {
    const { event, data } = JSON.parse(text)
    if (event !== 'pusher:subscribe') return
    RefusingSocket.refused = true
    this.#say('pusher:subscription_error', { status: 403 }, data.channel)
  }

  close() {}

  #say(event: string, data: object, channel?: string) {
    this.onmessage?.({ data: JSON.stringify({ event, data: JSON.stringify(data), channel }) })
  }
}

describe('lock objects of one page for one document', () => {
  let bed: ServiceBed
  let network: Network
  let first: DocumentLock
  let second: DocumentLock
  beforeEach(async () => {
    bed = await serviceBed()
    network = connect(bed)
    first = open(bed)
    second = open(bed)
    await eventually(() => expect(first.state.me).not.toBeNull())
  })
  afterEach(async () => {
    await Promise.all([first.close(), second.close()])
    await bed[Symbol.asyncDispose]()
  })
  const isHeld = async () => (await bed.store.read([RESOURCE]))[0]?.length === 1

  it('share the lock, and release it when none of them uses it', async () => {
    expect([await first.acquire(), await second.acquire()]).toEqual([true, true])
    expect(second.state).toBe(first.state)
    await first.release()
    expect([await isHeld(), second.state.held]).toEqual([true, true])
    await second.release()
    expect([await isHeld(), first.state.held]).toEqual([false, false])
  })

  it('release what only a closed one used', async () => {
    await first.acquire()
    await first.close()
    expect(first.state).toMatchObject({ phase: 'idle', held: false })
    expect(await isHeld()).toBe(false)
    expect(await second.acquire()).toBe(true)
  })

  it('lock objects of one page for one document have one name, which others see as soon as it is changed', async () => {
    await first.acquire()
    const named = async (name: string | undefined) =>
      expect((await bed.browser('other').call('GET', LOCK)).body).toMatchObject({
        holder: expect.objectContaining({ name }),
      })
    await eventually(() => named('Ken'))
    second.rename('Kenji')
    await eventually(() => named('Kenji'))
    await bed.clock.advance(HEARTBEAT_MS)
    await named('Kenji')
    const sent = network.sent.length
    first.rename('Kenji')
    expect(network.sent).toHaveLength(sent)
    first.rename('')
    await eventually(async () =>
      expect(Object((await bed.browser('other').call('GET', LOCK)).body).holder).not.toHaveProperty('name'),
    )
  })

  it('lock objects of one page for one document do not use a later lock because they used an earlier one', async () => {
    await Promise.all([first.acquire(), second.acquire()])
    await bed.store.release({ resource: RESOURCE, token: first.state.token ?? 0 })
    await bed.clock.advance(TTL_MS)
    await eventually(() => expect(first.state.phase).toBe('lost'))
    expect(await first.acquire()).toBe(true)
    await first.release()
    expect(await isHeld()).toBe(false)
  })

  it('lock objects of one page for one document do not use a later lock either if the server was silent until the earlier one was over', async () => {
    await Promise.all([first.acquire(), second.acquire()])
    network.onRequest = () => Promise.reject(new TypeError('no network'))
    await bed.clock.advance(TTL_MS)
    await eventually(() => expect(first.state.phase).toBe('lost'))
    network.onRequest = () => {}
    expect(await first.acquire()).toBe(true)
    await first.release()
    expect(await isHeld()).toBe(false)
  })

  it('wait together, each for its own time', async () => {
    const holder = bed.browser('holder')
    await holder.call('POST', LOCK)
    const long = first.acquire({ wait: Infinity })
    await eventually(() => expect(first.state.phase).toBe('waiting'))
    expect(await second.acquire()).toBe(false)
    const short = second.acquire({ wait: 2000 })
    await bed.clock.advance(2000)
    expect(await short).toBe(false)
    expect(first.state.phase).toBe('waiting')
    const longer = second.acquire({ wait: Infinity })
    await holder.call('DELETE', LOCK)
    await bed.clock.advance(1000)
    expect(await Promise.all([long, longer])).toEqual([true, true])
  })

  it('lock objects of one page for one document leave the queue when the last of them gives up', async () => {
    const holder = bed.browser('holder')
    await holder.call('POST', LOCK)
    const waits = [first.acquire({ wait: 60_000 }), second.acquire({ wait: Infinity })]
    await eventually(() => expect(first.state.phase).toBe('waiting'))
    await second.release()
    expect(await waits[1]).toBe(false)
    expect(first.state.phase).toBe('waiting')
    await first.release()
    expect(await waits[0]).toBe(false)
    await eventually(async () => expect((await holder.call('GET', LOCK)).body).toMatchObject({ waiting: [] }))
  })

  it('lock objects of one page for one document have one id, one socket and one reader', () => {
    expect(network.sockets).toBe(1)
    // The second read shows that the browser keeps the session cookie.
    expect(network.sent.length).toBeLessThanOrEqual(2)
  })

  it('lock objects of one page for one document are apart with other client ids', async () => {
    await using other = open(bed, { clientId: 'another-tab' })
    expect(await first.acquire()).toBe(true)
    expect(await other.acquire()).toBe(false)
  })
})

describe('listeners', () => {
  it('listeners may release the lock while it is requested', async () => {
    await using bed = await serviceBed()
    connect(bed)
    await using lock = open(bed)
    const stop = lock.subscribe(() => {
      if (lock.state.phase === 'acquiring') void lock.release()
    })
    expect(await lock.acquire()).toBe(false)
    stop()
    expect(await bed.store.read([RESOURCE])).toEqual([[]])
  })
})

describe('arguments', () => {
  const url = 'http://holdfast.test'
  const bad: [string, unknown, string][] = [
    ['a BigInt', 10n, 'roomId: expected a non-empty string, got 10n'],
    ['null', null, 'roomId: expected a non-empty string, got null'],
    ['an array', [], 'roomId: expected a non-empty string, got an array'],
    ['no room', { url }, 'roomId: expected a non-empty string, got undefined'],
    ['a null room', { url, roomId: null }, 'roomId: expected a non-empty string, got null'],
    ['a room that a path cannot name', { url, roomId: '..' }, 'roomId: expected a name other than . and ..'],
    ['a symbol as address', { url: Symbol('url'), roomId: 'r' }, 'url: expected an address'],
    ['an object without prototype as address', { url: Object.create(null), roomId: 'r' }, 'url: expected'],
    ['a relative address', { url: '/locks', roomId: 'r' }, 'url: expected an address'],
    ['an address of another protocol', { url: 'ws://holdfast.test', roomId: 'r' }, 'url: expected'],
    [
      'a password',
      { url: 'http://me:secret@holdfast.test', roomId: 'r' },
      'without a password, got a string',
    ],
    ['no address outside of a page', { roomId: 'r' }, 'url: expected an address'],
    ['a number as name', { url, roomId: 'r', name: 5 }, 'name: expected a non-empty string, got 5'],
    ['a text as headers', { url, roomId: 'r', headers: 'x' }, 'headers: expected HTTP headers'],
    ['a header that HTTP does not allow', { url, roomId: 'r', headers: { a: 'ü€' } }, 'headers: expected'],
  ]
  it.each(bad)('%s is refused', (_, options, message) => {
    const create = () => createDocumentLock(options as DocumentLockRoomOptions)
    expect(create).toThrow(expect.objectContaining({ code: 'invalid-argument' }))
    expect(create).toThrow(message)
  })

  const badSeconds: [string, unknown, string][] = [
    ['an address', 'http://me:secret@holdfast.test', 'options: expected an object, got a string'],
    ['null', null, 'options: expected an object, got null'],
    ['a second room', { url, roomId: 'r' }, '`roomId`: unknown option'],
    ['an unknown option', { url, wait: 5 }, '`wait`: unknown option'],
  ]
  it.each(badSeconds)('the argument %s after the room is refused', (_, options, message) => {
    const create = () => createDocumentLock('r', options as DocumentLockOptions)
    expect(create).toThrow(expect.objectContaining({ code: 'invalid-argument' }))
    expect(create).toThrow(message)
  })

  it('name the room first, or in the options: both are the same lock', async () => {
    await using bed = await serviceBed()
    connect(bed)
    const options = { url, clock: bed.clock, headers: { authorization: `Bearer ${ADMIN_TOKEN}` } }
    await using lock = createDocumentLock('room-1', options)
    await using same = createDocumentLock({ ...options, roomId: 'room-1' })
    expect([lock.roomId, lock.url]).toEqual([same.roomId, same.url])
    expect(await lock.acquire()).toBe(true)
    expect(same.state.held).toBe(true)
  })

  it('arguments of the calls are checked, too', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('no network')))
    await using lock = createDocumentLock({ url, roomId: 'r', clock: new FakeClock() })
    const refused = { code: 'invalid-argument' }
    for (const wait of [-1, 0.5, Number.NaN, 10n, '5 minutes', null, Symbol('wait'), {}])
      await expect(lock.acquire({ wait } as never)).rejects.toMatchObject(refused)
    await expect(lock.acquire(10n as never)).rejects.toMatchObject(refused)
    await expect(lock.answer('yes' as never)).rejects.toMatchObject(refused)
    expect(() => lock.rename(5 as never)).toThrow(expect.objectContaining(refused))
    expect(() => lock.subscribe(null as never)).toThrow(expect.objectContaining(refused))
  })

  it('arguments may be a URL, an empty name, and a wait as text', async () => {
    await using bed = await serviceBed()
    connect(bed)
    await using lock = open(bed, { url: new URL(url), name: '' })
    expect(await lock.acquire({ wait: '5s' })).toBe(true)
    expect(await bed.store.read([RESOURCE])).toMatchObject([[{ metadata: { client: expect.any(String) } }]])
  })
})

describe('the earlier names of the calls', () => {
  it.each([
    ['takeOver', 'takeover'],
    ['requestHandOver', 'requestHandoff'],
  ] as const)('%s does what %s does, and warns once', async (earlier, name) => {
    const emitWarning = vi.spyOn(process, 'emitWarning').mockReturnValue()
    await using bed = await serviceBed()
    connect(bed)
    await using holder = open(bed, { clientId: 'holder' })
    await using lock = open(bed)
    expect(await holder.acquire()).toBe(true)
    for (const method of [earlier, earlier]) {
      const heard = bed.socket('room-1')
      const taking = lock[method]()
      await eventually(() => expect(heard.at(-1)?.event).toBe('document.takeover-requested'))
      await lock.release()
      expect(await taking).toBe(false)
    }
    expect(emitWarning.mock.calls).toEqual([[`lock.${earlier}() is called ${name}() now`, 'HoldfastWarning']])
  })
})

function failIf(condition: boolean): void {
  if (condition) throw new TypeError('network error')
}
