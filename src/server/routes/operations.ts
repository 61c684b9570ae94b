import * as v from 'valibot'
import {
  channelAuth,
  channelAuthRequest,
  errorBody,
  LEASES_CHANNEL,
  publicNameOf,
  telemetryAccepted,
  telemetryBatch,
} from '../../protocol/index.ts'
import { HttpError } from '../http/http-error.ts'
import { type Call, type Reply, type Route, route } from '../http/route.ts'
import type { Action } from '../identity.ts'
import type { Service } from '../service.ts'

const status = v.object({ status: v.string() })

/** Channel auth, telemetry, and what an operator's tools look at. */
export function operationRoutes(service: Service): Route[] {
  const { store, meter, onTelemetry, stop } = service
  return [
    route({
      ...{ method: 'POST', path: '/broadcasting/auth', id: 'authorizeChannel', action: 'identified' },
      summary: 'Sign the subscription to a private or presence channel.',
      ...{ body: channelAuthRequest, form: true },
      answers: { 200: channelAuth, 403: errorBody },
      handle: (call) => signChannel(service, call),
    }),
    route({
      ...{ method: 'POST', path: '/telemetry', id: 'postTelemetry', action: 'identified', rate: 'telemetry' },
      summary: 'Events of clients, in batches.',
      ...{ body: telemetryBatch, limit: 'maxDocument' },
      answers: { 202: telemetryAccepted, 404: errorBody },
      async handle({ body: { events }, identity }) {
        if (!onTelemetry) throw new HttpError(404, 'telemetry_off', 'nobody listens to telemetry here')
        await onTelemetry(events, identity)
        return { status: 202, body: { accepted: events.length } }
      },
    }),
    route({
      ...{ method: 'GET', path: '/healthz', id: 'health', action: null },
      summary: 'The process lives.',
      answers: { 200: status },
      handle: () => ({ body: { status: 'ok' } }),
    }),
    route({
      ...{ method: 'GET', path: '/readyz', id: 'readiness', action: null },
      summary: 'The store answers, and the server is not stopping.',
      answers: { 200: status, 503: errorBody },
      async handle() {
        stop.throwIfAborted()
        await store.read(['holdfast:ready'])
        return { body: { status: 'ready' } }
      },
    }),
    route({
      ...{ method: 'GET', path: '/metrics', id: 'metrics', action: null },
      summary: 'Figures for Prometheus.',
      answers: { 200: null, 404: errorBody },
      async handle() {
        if (!meter) throw new HttpError(404, 'metrics_off', 'nobody counts here')
        const { body, contentType } = await meter.text()
        return { body, headers: { 'Content-Type': contentType } }
      },
    }),
  ]
}

async function signChannel(
  { channels, authorize }: Service,
  { identity, body }: Call<v.InferOutput<typeof channelAuthRequest>>,
): Promise<Reply> {
  const { socket_id, channel_name } = body
  const [action, about] = neededFor(channel_name)
  if (!(await authorize(identity, action, about)))
    throw new HttpError(403, 'forbidden', 'you may not join this channel')
  const { publicId, name } = identity
  const channelData = channel_name.startsWith('presence-')
    ? JSON.stringify({ user_id: publicId, user_info: { name: name ?? null } })
    : undefined
  const auth = await channels.sign(socket_id, channel_name, channelData)
  return { body: { auth, ...(channelData !== undefined && { channel_data: channelData }) } }
}

/** What one must be allowed to do in order to hear a channel. */
function neededFor(channel: string): readonly [Action, string] {
  if (channel === LEASES_CHANNEL) return ['observe', '']
  if (channel.startsWith('private-holdfast.client.')) return ['lease', '']
  const [, room] = /^document\.(.+)$/s.exec(publicNameOf(channel)) ?? []
  if (room !== undefined && channel !== publicNameOf(channel)) return ['read', room]
  throw new HttpError(403, 'forbidden', 'there is no such channel')
}
