import type * as v from 'valibot'
import {
  errorBody,
  MAX_CHANNEL_LENGTH,
  MAX_INFO_LENGTH,
  pusherBatch,
  pusherBatchTriggered,
  pusherChannel,
  pusherChannels,
  pusherEvent,
  pusherTerminated,
  pusherTriggered,
  pusherUsers,
} from '../../protocol/index.ts'
import { channelInUse } from '../channels/index.ts'
import { HttpError } from '../http/http-error.ts'
import { text } from '../http/query.ts'
import { type Reply, type Route, type RouteRequest, route } from '../http/route.ts'
import type { Service } from '../service.ts'

const PATH = '/apps/{appId}'
const prefix = text(MAX_CHANNEL_LENGTH, 'Only channels that begin with this text.')
const info = text(
  MAX_INFO_LENGTH,
  '`user_count` (presence channels only), `subscription_count`, or both with a comma.',
)
/** The channels of the lease API. What is sent there must come from the leases. */
const OWN_CHANNELS = 'private-holdfast.'

const common = { action: null, signed: true, limit: 'maxDocument' } as const

/** The server side of the Pusher protocol, as Laravel and the package `pusher` call it. */
export function pusherApiRoutes(service: Service): Route[] {
  return [...eventRoutes(service), ...channelRoutes(service)]
}

function eventRoutes(service: Service): Route[] {
  return [
    route('POST', `${PATH}/events`, {
      ...common,
      id: 'triggerEvent',
      summary: 'Send an event to channels, on all nodes.',
      body: pusherEvent,
      answers: { 200: pusherTriggered, 401: errorBody },
      async handle(request) {
        checkApp(service, request)
        const { body } = request
        const names = 'channels' in body ? body.channels : [body.channel]
        for (const channel of names) await send(service, channel, body)
        if (body.info === undefined) return { body: {} }
        const found = await Promise.all(
          names.map(async (channel) => {
            const { sockets: _, ...fields } = await infoOf(service, channel, body.info)
            return [channel, fields] as const
          }),
        )
        return { body: { channels: Object.fromEntries(found) } }
      },
    }),
    route('POST', `${PATH}/batch_events`, {
      ...common,
      id: 'triggerBatch',
      summary: 'Send several events, each to one channel, in their order.',
      body: pusherBatch,
      answers: { 200: pusherBatchTriggered, 401: errorBody },
      async handle(request) {
        checkApp(service, request)
        const { batch } = request.body
        for (const event of batch) await send(service, event.channel, event)
        if (batch.every((event) => event.info === undefined)) return { body: {} }
        const found = batch.map(async (event) => {
          const { sockets: _, ...fields } = await infoOf(service, event.channel, event.info)
          return fields
        })
        return { body: { batch: await Promise.all(found) } }
      },
    }),
  ]
}

function channelRoutes(service: Service): Route[] {
  const { channels } = service
  return [
    route('GET', `${PATH}/channels`, {
      ...common,
      id: 'listChannels',
      summary: 'The channels that somebody has subscribed to.',
      query: { filter_by_prefix: prefix, info },
      answers: { 200: pusherChannels, 401: errorBody },
      async handle(request) {
        checkApp(service, request)
        const wanted = request.query('info', info)
        const occupied = await channels.occupied(
          channelInUse(request.query('filter_by_prefix', prefix) ?? ''),
        )
        const found = [...occupied].map(([channel, sockets]) => [
          channel,
          infoFields(service, channel, wanted, sockets),
        ])
        return { body: { channels: Object.fromEntries(found) } }
      },
    }),
    route('GET', `${PATH}/channels/{channel}`, {
      ...common,
      id: 'readChannel',
      summary: 'Whether somebody has subscribed to a channel.',
      query: { info },
      answers: { 200: pusherChannel, 401: errorBody },
      async handle(request) {
        checkApp(service, request)
        const { sockets, ...fields } = await infoOf(
          service,
          request.channel,
          request.query('info', info) ?? '',
        )
        return { body: { occupied: sockets > 0, ...fields } }
      },
    }),
    route('GET', `${PATH}/channels/{channel}/users`, {
      ...common,
      id: 'listUsers',
      summary: 'The members of a presence channel.',
      answers: { 200: pusherUsers, 400: errorBody, 401: errorBody },
      handle(request): Reply {
        checkApp(service, request)
        const channel = channelInUse(request.channel)
        if (!channel.startsWith('presence-'))
          throw new HttpError(400, 'invalid_channel', 'expected a channel that begins with presence-')
        return { body: { users: [...channels.members(channel).keys()].map((id) => ({ id })) } }
      },
    }),
    route('POST', `${PATH}/users/{user}/terminate_connections`, {
      ...common,
      id: 'terminateUser',
      summary: 'End all sockets that have signed in as a user, on all nodes.',
      answers: { 200: pusherTerminated, 401: errorBody },
      async handle(request) {
        checkApp(service, request)
        await channels.terminate(request.user)
        return { body: {} }
      },
    }),
  ]
}

function checkApp({ settings }: Service, { appId }: RouteRequest<unknown>): void {
  if (appId !== settings.appId)
    throw new HttpError(404, 'unknown_app', 'there is no app with this id; compare it with the appId setting')
}

type Event = Pick<v.InferOutput<typeof pusherEvent>, 'name' | 'data' | 'socket_id'>

async function send(
  { channels, settings }: Service,
  channel: string,
  { name, data, socket_id }: Event,
): Promise<void> {
  if (channel.startsWith(OWN_CHANNELS))
    throw new HttpError(
      400,
      'invalid_channel',
      `channels that begin with ${OWN_CHANNELS} are the server's own`,
    )
  if (data.length > settings.maxBody)
    throw new HttpError(413, 'data_too_large', `data: expected at most ${settings.maxBody} characters`)
  await channels.publish(channelInUse(channel), name, data, socket_id)
}

type Info = { readonly user_count?: number; readonly subscription_count?: number }

async function infoOf(
  service: Service,
  name: string,
  wanted: string | undefined,
): Promise<Info & { sockets: number }> {
  const channel = channelInUse(name)
  const sockets = wanted === undefined ? 0 : ((await service.channels.occupied(channel)).get(channel) ?? 0)
  return { sockets, ...infoFields(service, channel, wanted, sockets) }
}

function infoFields({ channels }: Service, channel: string, wanted = '', sockets: number): Info {
  return {
    ...(wanted.includes('user_count') &&
      channel.startsWith('presence-') && { user_count: channels.members(channel).size }),
    ...(wanted.includes('subscription_count') && { subscription_count: sockets }),
  }
}
