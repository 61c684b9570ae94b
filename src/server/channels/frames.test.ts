import fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkProperty } from '../../../test/property.ts'
import { fakeSocket, KEY, SECRET } from '../../../test/server/fake-socket.ts'
import { FakeClock, settled } from '../../testing/fake-clock.ts'
import { memoryBus } from '../buses/memory.ts'
import { createChannels } from './index.ts'

const channel = fc.oneof(
  fc.constantFrom('news', 'private-a', 'presence-a', 'x'.repeat(5000), '__proto__', 'private-'),
  fc.string({ unit: 'binary' }),
)
const anything = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), channel)
const data = fc.oneof(
  anything,
  fc.record(
    { channel: fc.oneof(channel, anything), auth: anything, channel_data: anything },
    { requiredKeys: [] },
  ),
)
const event = fc.oneof(
  fc.constantFrom('pusher:ping', 'pusher:subscribe', 'pusher:unsubscribe', 'client-x', 'constructor'),
  fc.string({ unit: 'binary' }),
)
const frame = fc.oneof(
  fc
    .record({ event, data, channel: fc.oneof(channel, anything) }, { requiredKeys: ['event'] })
    .map((frame) => JSON.stringify(frame)),
  fc.string({ unit: 'binary' }),
  fc.json(),
  fc.nat(8000).map((depth) => `{"event":"pusher:subscribe","data":${'['.repeat(depth)}${']'.repeat(depth)}}`),
)

const ANSWERS = [
  'pusher:error',
  'pusher:pong',
  'pusher:subscription_error',
  'pusher_internal:subscription_succeeded',
]

it('whatever a client sends gets a frame of the protocol or nothing, and the socket still works', async () => {
  const hub = createChannels({
    key: KEY,
    secret: SECRET,
    bus: memoryBus(),
    clock: new FakeClock(),
    clientEvents: true,
    limits: { framesPerSecond: 1_000_000 },
  })
  await checkProperty(
    fc.asyncProperty(fc.array(frame, { maxLength: 20 }), async (texts) => {
      const socket = fakeSocket(hub)
      for (const text of texts) socket.sayText(text)
      await settled()
      for (const { event } of socket.take()) expect(ANSWERS).toContain(event)
      expect(socket.code).toBeNull()
      socket.say('pusher:ping')
      expect(socket.take().at(-1)).toMatchObject({ event: 'pusher:pong' })
      socket.leave()
    }),
    { numRuns: 300 },
  )
  expect([hub.sockets, [...hub.subscribed()]]).toEqual([0, []])
})
