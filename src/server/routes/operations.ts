import * as v from 'valibot'
import {
  channelAuth,
  channelAuthRequest,
  errorBody,
  LEASES_CHANNEL,
  roomChannel,
  roomOfChannel,
  telemetryAccepted,
  telemetryBatch,
  userAuth,
  userAuthRequest,
} from '../../protocol/index.ts'
import { channelInUse, NFC_EXPECTED } from '../channels/index.ts'
import { HttpError } from '../http/http-error.ts'
import { type Reply, type Route, type RouteRequest, route } from '../http/route.ts'
import type { Action } from '../identity.ts'
import type { DependencyFailure } from '../readiness.ts'
import type { Service } from '../service.ts'

const status = v.object({ status: v.string() })

/** Channel authorization, telemetry, and the routes for an operator's tools. */
export function operationRoutes(service: Service): Route[] {
  const { meter, onTelemetry, draining, stop } = service
  return [
    route('POST', '/broadcasting/auth', {
      id: 'authorizeChannel',
      action: 'identified',
      summary: 'Sign the subscription to a private or presence channel.',
      body: channelAuthRequest,
      form: true,
      answers: { 200: channelAuth, 400: errorBody, 403: errorBody },
      handle: (request) => signChannel(service, request),
    }),
    route('POST', '/broadcasting/user-auth', {
      id: 'authorizeUser',
      action: 'identified',
      summary: 'Sign a socket in as the user, for `pusher:signin`.',
      body: userAuthRequest,
      form: true,
      answers: { 200: userAuth },
      async handle({ identity, body }) {
        const user_data = JSON.stringify({
          id: identity.publicId,
          user_info: { name: identity.name ?? null },
        })
        return { body: { auth: await service.channels.signUser(body.socket_id, user_data), user_data } }
      },
    }),
    route('POST', '/telemetry', {
      id: 'postTelemetry',
      action: 'telemetry',
      rate: 'telemetry',
      summary: 'Events of clients, in batches. `accepted`: how many of them were kept.',
      body: telemetryBatch,
      limit: 'maxDocument',
      answers: { 202: telemetryAccepted, 404: errorBody },
      async handle({ body: { events }, identity }) {
        if (!onTelemetry) throw new HttpError(404, 'telemetry_off', 'this server does not collect telemetry')
        const accepted = (await onTelemetry(events, identity)) ?? events.length
        return { status: 202, body: { accepted } }
      },
    }),
    route('GET', '/healthz', {
      id: 'health',
      isFrequent: true,
      action: null,
      // It costs nothing, and a supervisor that gets no answer restarts the process.
      rate: 'none',
      summary: 'The process is alive.',
      answers: { 200: status },
      handle: () => ({ body: { status: 'ok' } }),
    }),
    route('GET', '/readyz', {
      id: 'readiness',
      isFrequent: true,
      action: null,
      summary: 'Leases, documents, audit and bus can be read and written, and the server is not stopping.',
      answers: { 200: status, 503: errorBody },
      async handle() {
        stop.throwIfAborted()
        draining.throwIfAborted()
        const failures = await service.failures()
        if (failures.length === 0) return { body: { status: 'ready' } }
        for (const { name, error } of failures) service.onError(`readiness: ${name}`, error)
        throw notReady(failures)
      },
    }),
    route('GET', '/metrics', {
      id: 'metrics',
      isFrequent: true,
      action: null,
      summary: 'Figures for Prometheus.',
      answers: { 200: null, 404: errorBody },
      async handle() {
        if (!meter) throw new HttpError(404, 'metrics_off', 'this server has no metrics')
        const { body, contentType } = await meter.text()
        return { body, headers: { 'Content-Type': contentType } }
      },
    }),
  ]
}

/** Names what failed, and not why: the log says that. */
function notReady(failures: readonly DependencyFailure[]): HttpError {
  const failed = Object.fromEntries(failures.map(({ name, error }) => [name, error.code]))
  const named = failures.map(({ name }) => name).join(', ')
  return new HttpError(503, 'not_ready', `${named}: cannot be used now; the log of the server says why`, {
    details: { failed },
    headers: { 'Retry-After': '1' },
  })
}

async function signChannel(
  { channels, authorize }: Service,
  { identity, body }: RouteRequest<v.InferOutput<typeof channelAuthRequest>>,
): Promise<Reply> {
  const { socket_id, channel_name } = body
  if (channel_name !== channelInUse(channel_name)) throw new HttpError(400, 'invalid_channel', NFC_EXPECTED)
  const [action, resource] = neededFor(channel_name)
  if (!(await authorize(identity, action, resource)))
    throw new HttpError(403, 'forbidden', 'you may not join this channel')
  const { publicId } = identity
  const { name = body.name } = identity
  const channelData = channel_name.startsWith('presence-')
    ? JSON.stringify({ user_id: publicId, user_info: { name: name ?? null } })
    : undefined
  const auth = await channels.sign(socket_id, channel_name, channelData)
  return { body: { auth, ...(channelData !== undefined && { channel_data: channelData }) } }
}

/** The permission that a subscription to the channel needs. */
function neededFor(channel: string): readonly [Action, string] {
  if (channel === LEASES_CHANNEL) return ['observe', '']
  if (channel.startsWith('private-holdfast.client.')) return ['lease', '']
  const room = roomOfChannel(channel)
  if (room !== null && channel !== roomChannel(room)) return ['read', room]
  throw new HttpError(403, 'forbidden', 'there is no such channel')
}
