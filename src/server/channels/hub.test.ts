import { createHmac } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { fakeSocket, KEY, SECRET } from '../../../test/server/fake-socket.ts'
import { FakeClock, settled } from '../../testing/fake-clock.ts'
import type { Bus } from '../bus.ts'
import { memoryBus } from '../buses/memory.ts'
import { type ChannelsHub, createChannels } from './index.ts'
import type { ChannelsOptions } from './options.ts'

let clock: FakeClock
let bus: Bus
let hub: ChannelsHub
const open = (options: Partial<ChannelsOptions> = {}) => {
  hub = createChannels({ key: KEY, secret: SECRET, bus, clock, ...options })
  return hub
}
beforeEach(() => {
  clock = new FakeClock()
  bus = memoryBus()
  open()
})

const SUCCEEDED = 'pusher_internal:subscription_succeeded'
const refused = (status: number, channel: unknown = expect.any(String)) => [
  { event: 'pusher:subscription_error', channel, data: expect.objectContaining({ status }) },
]
const errorFrame = (code: number | null = null) => [
  { event: 'pusher:error', data: { code, message: expect.any(String) } },
]

const CYCLIC: { self?: object } = {}
CYCLIC.self = CYCLIC

describe('the channel of a room', () => {
  // As macOS spells the names of files.
  const room = '\u30ab\u3099'

  it('the channel of a room that is not in NFC is refused, because its events have the name in NFC', async () => {
    for (const prefix of ['', 'private-', 'presence-'])
      expect(await fakeSocket(hub).subscribe(`${prefix}document.${room}`)).toEqual(refused(400))
    expect(await fakeSocket(hub).subscribe(`document.${room.normalize('NFC')}`)).toMatchObject([
      { event: SUCCEEDED },
    ])
  })
})

describe('a connection', () => {
  it('a connection gets its id, and the seconds of silence after which it should ping', () => {
    const sent: string[] = []
    const connection = { send: (text: string) => sent.push(text), close() {} }
    open({ activityTimeout: '12s' })
    hub.accept(connection, { key: KEY, protocol: '7', library: null, client: 'a' })
    const { event, data } = JSON.parse(sent[0] ?? '')
    expect(event).toBe('pusher:connection_established')
    expect(JSON.parse(data)).toEqual({ socket_id: expect.stringMatching(/^\d+\.\d+$/), activity_timeout: 12 })
  })

  it.each([
    [4001, 'another key', { key: 'other' }],
    [4008, 'no protocol', { protocol: null }],
    [4006, 'a protocol that is not a number', { protocol: '7.x' }],
    [4007, 'another protocol', { protocol: '6' }],
    [4009, 'a foreign origin', { refusedOrigin: 'https://evil.test' }],
  ])('a connection is refused with %i: %s', (code, _, request) => {
    const socket = fakeSocket(hub, request)
    expect(socket.code).toBe(code)
    expect(socket.take()).toEqual(errorFrame(code))
    expect(hub.sockets).toBe(0)
  })

  it('a connection is refused above the limit of one client, until that client closes some', () => {
    open({ limits: { socketsPerClient: 1000 } })
    const sockets = Array.from({ length: 10_000 }, () => fakeSocket(hub))
    expect(sockets.filter(({ code }) => code === 4004)).toHaveLength(9000)
    expect(fakeSocket(hub, { client: 'another' }).code).toBeNull()
    for (const socket of sockets) socket.leave()
    expect(hub.sockets).toBe(1)
    expect(fakeSocket(hub).code).toBeNull()
  })
})

describe('a frame', () => {
  it.each([
    ['pusher:ping', undefined, [{ event: 'pusher:pong', data: {} }]],
    ['pusher:pong', undefined, []],
    ['pusher:subscribe', undefined, errorFrame()],
    ['pusher:subscribe', { channel: 7 }, errorFrame()],
    ['pusher:subscribe', { channel: 'news' }, [{ event: SUCCEEDED, channel: 'news', data: {} }]],
    [
      'pusher:subscribe',
      JSON.stringify({ channel: 'news' }),
      [{ event: SUCCEEDED, channel: 'news', data: {} }],
    ],
    ['pusher:subscribe', { channel: '' }, refused(400)],
    ['pusher:subscribe', { channel: 'a\nb' }, refused(400)],
    ['pusher:subscribe', { channel: 'x'.repeat(601) }, refused(400, 'x'.repeat(600))],
    ['pusher:unsubscribe', { channel: 'news' }, []],
    ['pusher:unsubscribe', undefined, []],
    ['pusher:signin', {}, errorFrame()],
    ['client-typing', {}, errorFrame(4301)],
    ['document.locked', {}, errorFrame()],
  ])('the frame %s with %j is answered', (event, data, answer) => {
    const socket = fakeSocket(hub)
    socket.say(event, data)
    expect(socket.take()).toEqual(answer)
    expect(socket.code).toBeNull()
  })

  it.each(['', 'hello', '[]', 'null', '7', '{}', '{"event":7}', '{"event"'])(
    'a malformed frame gets an error: %s',
    (text) => {
      const socket = fakeSocket(hub)
      socket.sayText(text)
      expect(socket.take()).toEqual(errorFrame())
    },
  )

  it('a frame is one too many in a second: the socket is ended, and gets no more answers', () => {
    open({ limits: { framesPerSecond: 5 } })
    const socket = fakeSocket(hub)
    for (let n = 0; n < 9; n++) socket.say('pusher:ping')
    expect(socket.take().map(({ event }) => event)).toEqual([...Array(5).fill('pusher:pong'), 'pusher:error'])
    expect(socket.code).toBe(4301)
  })

  it('a frame is answered if many of them come over many seconds', async () => {
    open({ limits: { framesPerSecond: 5 } })
    const socket = fakeSocket(hub)
    for (let n = 0; n < 25; n++) {
      socket.say('pusher:ping')
      await clock.advance(200)
    }
    expect(socket.code).toBeNull()
  })
})

describe('a subscription', () => {
  it.each([
    ['private-a', undefined],
    ['private-document.x:y', undefined],
    ['presence-a', { user_id: '7', user_info: { name: 'Ann' } }],
    ['presence-a', { user_id: 7 }],
  ])(
    'a subscription to %s needs a signature for exactly this socket and channel',
    async (channel, member) => {
      const [socket, other] = [fakeSocket(hub), fakeSocket(hub)]
      const channel_data = member && JSON.stringify(member)
      const auth = await hub.sign(socket.id, channel, channel_data)
      const forged = `${auth.slice(0, -1)}${auth.endsWith('0') ? '1' : '0'}`
      for (const bad of [
        undefined,
        7,
        '',
        'x',
        forged,
        auth.toUpperCase(),
        `${auth}0`,
        auth.replace(KEY, 'other'),
      ])
        expect(await socket.subscribe(channel, { auth: bad, channel_data })).toEqual(refused(401, channel))
      expect(await other.subscribe(channel, { auth, channel_data })).toEqual(refused(401, channel))
      expect(await socket.subscribe(`${channel}b`, { auth, channel_data })).toEqual(
        refused(401, `${channel}b`),
      )
      expect(await socket.subscribe(channel, { auth, channel_data })).toMatchObject([
        { event: SUCCEEDED, channel },
      ])
    },
  )

  it('a subscription is signed like Pusher does it', async () => {
    const signature = '58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4'
    expect(await hub.sign('1234.1234', 'private-foobar')).toBe(`${KEY}:${signature}`)
    const member = '{"user_id":10,"user_info":{"name":"Mr. Pusher"}}'
    const text = `1234.1234:presence-foobar:${member}`
    const expected = createHmac('sha256', SECRET).update(text).digest('hex')
    expect(await hub.sign('1234.1234', 'presence-foobar', member)).toBe(`${KEY}:${expected}`)
  })

  it.each([
    ['1.2:presence-a', 'private-b', undefined],
    ['', 'private-b', undefined],
    ['1.2', 'public', undefined],
    ['1.2', 'presence-a', undefined],
  ])('a subscription is not signed for socket %j, channel %s, data %s', async (socketId, channel, data) => {
    await expect(hub.sign(socketId, channel, data)).rejects.toMatchObject({ code: 'invalid-argument' })
  })

  it.each([
    undefined,
    'x',
    '7',
    'null',
    '{}',
    '{"user_id":""}',
    '{"user_id":{}}',
    `{"user_id":"${'7'.repeat(2048)}"}`,
  ])('a subscription to a presence channel needs the data of a member, not %s', async (channel_data) => {
    const socket = fakeSocket(hub)
    const auth = await hub.sign(socket.id, 'presence-a', channel_data ?? '')
    expect(await socket.subscribe('presence-a', { auth, channel_data })).toEqual(refused(400, 'presence-a'))
  })

  it('a subscription may be requested twice', async () => {
    const socket = fakeSocket(hub)
    const first = await socket.enter('presence-a', { user_id: '1' })
    expect(await socket.enter('presence-a', { user_id: '1' })).toEqual(first)
    hub.broadcast('a', 'document.locked', {})
    expect(socket.take()).toHaveLength(1)
    const other = fakeSocket(hub)
    await other.enter('presence-a', { user_id: '2' })
    socket.leave()
    expect(other.take()).toMatchObject([{ event: 'pusher_internal:member_removed', data: { user_id: '1' } }])
  })

  it('a subscription to a presence channel is only for the member in the signature', async () => {
    const socket = fakeSocket(hub)
    const [own, forged] = ['{"user_id":"1"}', '{"user_id":"2"}']
    const auth = await hub.sign(socket.id, 'presence-a', own)
    const refusal = refused(401, 'presence-a')
    expect(await socket.subscribe('presence-a', { auth, channel_data: forged })).toEqual(refusal)
  })

  it('a subscription that is ended before its signature was verified does not begin', async () => {
    const socket = fakeSocket(hub)
    const auth = await hub.sign(socket.id, 'private-a')
    socket.say('pusher:subscribe', { channel: 'private-a', auth })
    socket.say('pusher:unsubscribe', { channel: 'private-a' })
    expect(await socket.subscribe('private-b', { auth })).toEqual(refused(401, 'private-b'))
    expect([...hub.subscribed()]).toEqual([])
  })

  it('a subscription is refused above the limit, until another one ends', async () => {
    open({ limits: { channelsPerSocket: 2 } })
    const socket = fakeSocket(hub)
    for (const channel of ['a', 'b'])
      expect(await socket.subscribe(channel)).toMatchObject([{ event: SUCCEEDED }])
    expect(await socket.subscribe('c')).toEqual(refused(429, 'c'))
    socket.say('pusher:unsubscribe', { channel: 'a' })
    expect(await socket.subscribe('c')).toMatchObject([{ event: SUCCEEDED }])
  })

  it('a subscription to a public channel can be forbidden', async () => {
    open({ publicChannels: false })
    const socket = fakeSocket(hub)
    expect(await socket.subscribe('a')).toEqual(refused(403, 'a'))
    expect(await socket.enter('private-a')).toMatchObject([{ event: SUCCEEDED }])
  })
})

describe('a broadcast', () => {
  it('a broadcast reaches the public, private and presence form of a channel, and nobody else', async () => {
    const [open, secret, present, elsewhere, gone] = Array.from({ length: 5 }, () => fakeSocket(hub))
    await open?.subscribe('document.1')
    await secret?.enter('private-document.1')
    await present?.enter('presence-document.1', { user_id: '1' })
    await elsewhere?.subscribe('document.2')
    await gone?.subscribe('document.1')
    gone?.leave()
    expect([...hub.subscribed()]).toEqual(['document.1', 'document.2'])
    const data = { room_id: '1' }
    hub.broadcast('document.1', 'document.locked', data)
    const event = 'document.locked'
    expect(open?.take()).toEqual([{ event, channel: 'document.1', data }])
    expect(secret?.take()).toEqual([{ event, channel: 'private-document.1', data }])
    expect(present?.take()).toEqual([{ event, channel: 'presence-document.1', data }])
    expect([elsewhere?.take(), gone?.take()]).toEqual([[], []])
  })

  it('a broadcast to one form of a channel reaches no other', async () => {
    const [open, secret] = [fakeSocket(hub), fakeSocket(hub)]
    await open.subscribe('a')
    await secret.enter('private-a')
    hub.broadcast('private-a', 'lease.wake', {})
    expect([open.take().length, secret.take().length]).toEqual([0, 1])
  })

  it('a broadcast skips the socket that caused it', async () => {
    const [one, two] = [fakeSocket(hub), fakeSocket(hub)]
    for (const socket of [one, two]) await socket.subscribe('a')
    hub.broadcast('a', 'document.saved', {}, one.id)
    expect([one.take().length, two.take().length]).toEqual([0, 1])
  })

  it.each([
    ['plain', 'js', 'document.locked', 'document.locked'],
    ['laravel', 'js', 'document.locked', 'App\\Events\\DocumentLocked'],
    ['laravel', 'js', 'document.takeover-requested', 'App\\Events\\DocumentTakeoverRequested'],
    ['laravel', 'js', 'lease.wake', 'lease.wake'],
    ['laravel', 'holdfast', 'document.locked', 'document.locked'],
  ] as const)('a broadcast is named %s for %s: %s is %s', async (naming, library, event, name) => {
    open({ naming })
    const socket = fakeSocket(hub, { library })
    await socket.subscribe('a')
    hub.broadcast('a', event, {})
    expect(socket.take()).toMatchObject([{ event: name }])
  })
})

describe('a silent socket', () => {
  it.each([
    ['answers', () => {}],
    ['answers with a pong of the WebSocket', 'alive'],
  ] as const)('a silent socket is pinged, and stays when it %s', async (_, answer) => {
    const socket = fakeSocket(hub)
    await clock.advance(30_000)
    expect(socket.take()).toEqual([{ event: 'pusher:ping', data: {} }])
    await clock.advance(20_000)
    if (answer === 'alive') socket.alive()
    else socket.say('pusher:pong')
    await clock.advance(20_000)
    expect([socket.take(), socket.code]).toEqual([[], null])
  })

  it('a silent socket is not ended before its answer is read, if this node stood still meanwhile', async () => {
    let lateMs = 0
    open({
      clock: {
        now: () => clock.now(),
        monotonic: () => clock.monotonic(),
        random: () => clock.random(),
        setTimer: (run, ms) => clock.setTimer(run, ms + lateMs),
      },
    })
    const socket = fakeSocket(hub)
    await clock.advance(25_000)
    lateMs = 60_000
    await clock.advance(76_000)
    expect([socket.take(), socket.code]).toEqual([[{ event: 'pusher:ping', data: {} }], null])
    socket.say('pusher:pong')
    await clock.advance(71_000)
    expect(socket.code).toBeNull()
  })

  it('a silent socket is ended with 4201 when it does not answer', async () => {
    const socket = fakeSocket(hub)
    await clock.advance(70_000)
    expect(socket.take().map(({ event }) => event)).toEqual(['pusher:ping', 'pusher:error'])
    expect(socket.code).toBe(4201)
  })
})

describe('client events', () => {
  const begin = async (channel: string) => {
    open({ clientEvents: true })
    const [one, two] = [fakeSocket(hub), fakeSocket(hub)]
    for (const [index, socket] of [one, two].entries())
      if (channel.startsWith('presence-')) await socket.enter(channel, { user_id: index + 1 })
      else if (channel.startsWith('private-')) await socket.enter(channel)
      else await socket.subscribe(channel)
    await settled()
    one.take()
    return { one, two }
  }

  it.each(['private-a', 'presence-a'])('client events reach the others in %s', async (channel) => {
    const { one, two } = await begin(channel)
    one.say('client-typing', { at: 3 }, channel)
    await settled()
    expect(one.take()).toEqual([])
    expect(two.take()).toEqual([{ event: 'client-typing', channel, data: { at: 3 } }])
  })

  it.each(['a', 'private-other', undefined])('client events are refused in %s', async (channel) => {
    const { one, two } = await begin('a')
    one.say('client-typing', {}, channel)
    await settled()
    expect([one.take(), two.take()]).toEqual([errorFrame(4301), []])
  })

  it('client events are refused above the limit of a second, and if they are nested too deeply', async () => {
    const { one, two } = await begin('private-a')
    const nested = `${'['.repeat(8000)}${']'.repeat(8000)}`
    one.sayText(`{"event":"client-typing","channel":"private-a","data":${nested}}`)
    for (let n = 0; n < 11; n++) one.say('client-typing', {}, 'private-a')
    await settled()
    expect(one.take()).toEqual([...errorFrame(4301), ...errorFrame(4301), ...errorFrame(4301)])
    expect(two.take()).toHaveLength(9)
  })
})

describe('a malformed message of the bus', () => {
  it.each([
    {},
    { channel: 'document.1' },
    { channel: 'document.1', text: null },
    { channel: ['document.1'], text: '{}' },
  ])('a malformed message of the bus reaches nobody: %j', async (data) => {
    let sent: string[] = []
    const connection = { send: (text: string) => sent.push(text), close() {} }
    const handler = hub.accept(connection, { key: KEY, protocol: '7', library: null, client: 'a' })
    handler?.received(JSON.stringify({ event: 'pusher:subscribe', data: { channel: 'document.1' } }))
    expect(sent).toHaveLength(2)
    sent = []
    await bus.publish({ topic: 'client-event', data })
    await settled()
    expect(sent).toEqual([])
  })
})

describe('close', () => {
  it('close tells every socket to come back later, and refuses new ones with the same code', async () => {
    const sockets = [fakeSocket(hub), fakeSocket(hub)]
    await hub.close()
    expect([...sockets, fakeSocket(hub)].map(({ code }) => code)).toEqual([4100, 4100, 4100])
    for (const socket of sockets) socket.leave()
    expect([hub.sockets, clock.pending]).toEqual([0, 0])
    await hub.close()
  })

  it('close ends while the bus does not work', async () => {
    const silent = {
      ...bus,
      publish: () => new Promise<void>(() => {}),
      subscribe: () => Promise.reject(new Error()),
    }
    open({ bus: silent })
    await clock.advance(5000)
    const closed = hub.close()
    await clock.advance(5000)
    await closed
  })
})

it.each([
  ['key', { key: 'a b' }, '"a b"'],
  ['key', { key: undefined }, 'undefined'],
  ['secret', { secret: '' }, 'a string'],
  ['secret', { secret: 10n }, '10n'],
  ['secret', { secret: { hush: 'hush' } }, 'an object'],
  ['naming', { naming: 'other' }, '"other"'],
  ['naming', { naming: { laravel: true } }, 'an object'],
  ['naming', { naming: Symbol('x') }, 'Symbol(x)'],
  ['naming', { naming: CYCLIC }, 'an object'],
  ['activityTimeout', { activityTimeout: 10 }, '10'],
  ['activityTimeout', { activityTimeout: 'soon' }, '"soon"'],
  ['bus', { bus: null }, 'null'],
  ['clock', { clock: {} }, 'an object'],
  ['publicChannels', { publicChannels: 'yes' }, '"yes"'],
  ['clientEvents', { clientEvents: 1 }, '1'],
  ['origins', { origins: 'https://a.test' }, '"https://a.test"'],
  ['limits', { limits: null }, 'null'],
  ['limits.socketsPerClient', { limits: { socketsPerClient: 0 } }, '0'],
  ['limits.socketsPerClient', { limits: { socketsPerClient: {} } }, 'an object'],
])('createChannels refuses a bad %s and shows it: %#', (option, options, shown) => {
  const opening = () => open(options as Partial<ChannelsOptions>)
  expect(opening).toThrow(`${option}: expected`)
  expect(opening).toThrow(`, got ${shown}`)
})
