/** What sockets say to the server, and what nodes say to each other. */

import { asLeaseError } from '../../../src/base/errors.ts'
import type { BusMessage } from '../../../src/server/bus.ts'
import { createBus } from '../../../src/server/buses/create-bus.ts'
import { memoryBus } from '../../../src/server/buses/memory.ts'
import { createChannels } from '../../../src/server/channels/index.ts'
import { FakeClock, settled } from '../../../src/testing/fake-clock.ts'
import { fakeSocket, KEY, SECRET } from '../../server/fake-socket.ts'
import { serviceBed } from '../../server/service-bed.ts'
import type { Target } from '../target.ts'

const frame = (event: string, data: unknown, channel?: string) => ({
  text: JSON.stringify({ event, data, channel }),
})

const REFUSALS = ['pusher:error', 'pusher:subscription_error']
const ANSWERS = ['pusher:pong', 'pusher_internal:subscription_succeeded', 'pusher:signin_success']

export const frames: Target = {
  corpus: [
    frame('pusher:ping', {}),
    frame('pusher:pong', {}),
    frame('pusher:subscribe', { channel: 'news' }),
    frame('pusher:subscribe', JSON.stringify({ channel: 'news' })),
    frame('pusher:subscribe', { channel: 'private-a', auth: `${KEY}:00ff` }),
    frame('pusher:subscribe', {
      channel: 'presence-a',
      auth: `${KEY}:00ff`,
      channel_data: '{"user_id":"7","user_info":{"name":"Ann"}}',
    }),
    frame('pusher:unsubscribe', { channel: 'news' }),
    frame('pusher:signin', { auth: `${KEY}:00ff`, user_data: '{"id":"7"}' }),
    frame('client-typing', { a: [1] }, 'private-mine'),
  ],
  open() {
    const hub = createChannels({
      key: KEY,
      secret: SECRET,
      bus: memoryBus(),
      clock: new FakeClock(),
      clientEvents: true,
      limits: { framesPerSecond: 1e9, clientEventsPerSecond: 1e9 },
    })
    const open = async () => {
      const socket = fakeSocket(hub)
      await socket.enter('private-mine')
      return socket
    }
    let socket = open()
    return {
      async feed({ text = '' }) {
        const { sayText, say, take, leave, code } = await socket
        sayText(text)
        await settled()
        const said = take().map(({ event }) => event)
        const odd = said.find((event) => ![...REFUSALS, ...ANSWERS].includes(event))
        if (odd !== undefined || code !== null)
          throw new Error(`the server said ${odd}, and ended with ${code}`)
        say('pusher:ping')
        if (take().at(-1)?.event !== 'pusher:pong') throw new Error('the socket no longer answers')
        leave()
        socket = open()
        await socket
        if (hub.sockets !== 1 || [...hub.subscribed()].length > 1)
          throw new Error('a socket left something behind')
        return said.some((event) => REFUSALS.includes(event)) ? 'refused' : 'accepted'
      },
    }
  },
}

const PERSON = { sessionId: 's', clientId: 'c', name: 'Ann' }
const message = (topic: string, data: object) => ({ text: JSON.stringify({ version: 1, topic, data }) })

/** Nodes of other versions share the bus. */
export const bus: Target = {
  corpus: [
    message('document', { name: 'document.saved', event: { room_id: 'room-1', token: 5, saved_at: 'x' } }),
    message('document', { name: 'document.renewed', event: { room_id: 'room-1', token: 5, holder: PERSON } }),
    message('lease-push', { client: 'c-1', name: 'lease.wake', event: { id: 'a', in_ms: 5 } }),
    message('handover', {
      room: 'room-1',
      requestId: 'r',
      token: 5,
      openMs: 5000,
      by: PERSON,
      kind: 'request',
    }),
    message('handover', { requestId: 'r', token: 5, granted: true }),
    message('handover', { requestId: 'r', token: 5, postponeMs: 5000 }),
    message('handover', { requestId: 'r', token: 5, movedTo: 'n' }),
    message('line', {
      room: 'room-1',
      node: 'n',
      line: [{ id: 'w', since: 5, person: PERSON }],
      count: 1,
      joined: [PERSON],
    }),
    message('withdrawal', { room: 'room-1', node: 'n', person: PERSON, before: 5 }),
    message('client-event', { channel: 'a', text: '{"event":"x","data":"{}"}', sender: '1.2' }),
    message('terminate', { user: '7' }),
    message('occupancy', { ask: 'q', prefix: '' }),
    message('occupancy', { answer: 'q', node: 'n', counts: [['a', 5]] }),
    message('presence', { node: 'n', seq: 0, kind: 'joined', entry: ['presence-a', '7', { name: 'Ann' }] }),
    message('presence', { node: 'n', seq: 1, kind: 'left', channel: 'presence-a', id: '7' }),
    message('presence', { node: 'n', seq: 2, kind: 'beat' }),
    message('presence', { node: 'n', seq: 3, kind: 'ask', of: 'm' }),
    message('presence', {
      node: 'n',
      seq: 4,
      kind: 'roster',
      entries: [['presence-a', '7', {}]],
      first: true,
      last: true,
    }),
    { text: JSON.stringify({ topic: 'document', data: {} }) },
    { text: JSON.stringify({ version: 2, topic: 'document', data: {} }) },
  ],
  async open() {
    let arrive = (_text: string) => {}
    let heard = 0
    const shared = createBus({ name: 'Test', explain: asLeaseError }, ({ received }) => {
      arrive = received
      return { async send() {}, async listen() {}, unlisten() {} }
    })
    const errors: unknown[] = []
    const settings = { rate: 1_000_000, burst: 1_000_000 }
    // A bus goes on when a listener throws, and tells nobody.
    const noticing = (on: (message: BusMessage) => void) => (message: BusMessage) => {
      try {
        on(message)
      } catch (error) {
        errors.push(error)
      }
    }
    const bed = await serviceBed({
      bus: { ...shared, subscribe: (on) => shared.subscribe(noticing(on)) },
      settings,
      log: (level, event) => level === 'error' && errors.push(event),
    })
    await shared.subscribe(() => {
      heard++
    })
    const honest = bed.browser('honest')
    return {
      async feed({ text = '' }) {
        const before = heard
        arrive(text)
        await settled()
        if (errors.length > 0) throw errors[0]
        const { status } = await honest.call('POST', '/api/documents/honest/lock')
        if (status !== 200) throw new Error(`the server no longer works: ${status}`)
        return heard > before ? 'accepted' : 'refused'
      },
      close: () => bed[Symbol.asyncDispose](),
    }
  },
}
