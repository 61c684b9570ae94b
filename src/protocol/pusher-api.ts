/** The HTTP API of the Pusher protocol, by which a backend broadcasts through the server. */

import * as v from 'valibot'
import { MAX_CHANNEL_LENGTH, MAX_CHANNELS, MAX_EVENT_BATCH, MAX_EVENT_LENGTH } from './options.ts'

const channel = v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_CHANNEL_LENGTH), v.regex(/^[^\p{Cc}]*$/u))
/** Names of the protocol itself are not for events. */
const eventName = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(MAX_EVENT_LENGTH),
  v.regex(/^(?!pusher(_internal)?:)/u),
)
const event = {
  name: eventName,
  /** JSON in a string, as all clients of the protocol send it. */
  data: v.string(),
  /** The socket that does not get the event: that of the sender (`toOthers`). */
  socket_id: v.exactOptional(v.string()),
  info: v.exactOptional(v.string()),
}

export const pusherEvent = v.union([
  v.object({ ...event, channels: v.pipe(v.array(channel), v.minLength(1), v.maxLength(MAX_CHANNELS)) }),
  v.object({ ...event, channel }),
])
export const pusherBatch = v.object({
  batch: v.pipe(v.array(v.object({ ...event, channel })), v.maxLength(MAX_EVENT_BATCH)),
})

const info = {
  user_count: v.exactOptional(v.number()),
  subscription_count: v.exactOptional(v.number()),
}
export const pusherChannel = v.object({ occupied: v.boolean(), ...info })
export const pusherChannels = v.object({ channels: v.record(v.string(), v.object(info)) })
/** Empty unless the request asked for `info`. */
export const pusherTriggered = v.object({
  channels: v.exactOptional(v.record(v.string(), v.object(info))),
})
export const pusherBatchTriggered = v.object({ batch: v.exactOptional(v.array(v.object(info))) })
export const pusherTerminated = v.object({})
export const pusherUsers = v.object({ users: v.array(v.object({ id: v.string() })) })
