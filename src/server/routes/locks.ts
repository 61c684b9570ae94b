import * as v from 'valibot'
import {
  alreadyLocked,
  CLIENT_HEADER,
  errorBody,
  lockAsk,
  lockBeat,
  lockGranted,
  lockRenewed,
  lockState,
  releaseBody,
  roomLocks,
  roomsQuery,
  success,
} from '../../protocol/index.ts'
import { forbidden } from '../http/http-error.ts'
import { integer, seconds } from '../http/query.ts'
import { checkRoom } from '../http/request.ts'
import { type Route, route } from '../http/route.ts'
import type { Service } from '../service.ts'
import { LOCK_PATH, LockReplies, lockNotFound, named, notYours, unlockReply } from './lock-replies.ts'

const token = integer(0, Number.MAX_SAFE_INTEGER, 'End only the lock with this token.')

/** What a browser sends to hold a room: lock, heartbeat, unlock, read. */
export function lockRoutes(service: Service): Route[] {
  const replies = new LockReplies(service)
  return [lockRoute(service, replies), ...holderRoutes(service, replies), ...readRoutes(service, replies)]
}

function lockRoute({ locks, waiterLimits, settings, stats }: Service, replies: LockReplies): Route {
  const wait = seconds(settings.maxWait / 1000, 'Seconds to wait in the queue.')
  return route('POST', LOCK_PATH, {
    id: 'lock',
    headers: [CLIENT_HEADER],
    action: 'lock',
    summary: 'Lock the room. Repeated by the holder, it renews the lock.',
    query: { wait },
    body: lockAsk,
    answers: { 200: lockGranted, 409: v.union([alreadyLocked, errorBody]) },
    async handle(request) {
      const { room } = request
      const client = named(await request.client(), request.body.name)
      const ms = (request.query('wait', wait) ?? 0) * 1000
      const result =
        ms > 0
          ? await waiterLimits.run(request, () =>
              locks.lock(room, client, { wait: { ms, signal: request.signal } }),
            )
          : await locks.lock(room, client)
      stats.onAnswered(result.granted)
      return replies.lock(result, { room, client })
    },
  })
}

/** What a holder sends. */
function holderRoutes(
  { locks, withdrawals, names, announcer, onError }: Service,
  replies: LockReplies,
): Route[] {
  return [
    route('PUT', LOCK_PATH, {
      id: 'beat',
      headers: [CLIENT_HEADER],
      isFrequent: true,
      action: 'lock',
      rate: 'holder',
      summary: 'Heartbeat: the lock lives for its whole TTL from now. It may change the name of the holder.',
      body: lockBeat,
      answers: { 200: lockRenewed, 403: errorBody, 404: errorBody },
      async handle(request) {
        const { room, body } = request
        const client = await request.client()
        const renewal = await locks.renew(room, client)
        if (!renewal.ok) throw renewal.holders.length > 0 ? notYours() : lockNotFound()
        const { lease } = renewal
        // If the identity has a name, that one is shown.
        const name = client.person.name ?? body.name
        if (name !== undefined && names.isRenamed(lease, name))
          announcer.publishName(room, lease, name).catch((error: unknown) => onError('announce', error))
        return { body: replies.renewed(lease, room) }
      },
    }),
    route('DELETE', LOCK_PATH, {
      id: 'unlock',
      headers: [CLIENT_HEADER],
      action: 'lock',
      rate: 'holder',
      summary: 'Unlock, or leave the queue. It also succeeds if there is no lock.',
      query: { token },
      answers: { 200: success, 403: errorBody, 409: errorBody },
      async handle(request) {
        const client = await request.client()
        const onlyToken = request.query('token', token)
        if (onlyToken === undefined) await withdrawals.withdraw(request.room, client)
        return unlockReply(await locks.unlock(request.room, client, onlyToken))
      },
    }),
    route('POST', `${LOCK_PATH}/release`, {
      id: 'unlockByBeacon',
      headers: [CLIENT_HEADER],
      action: 'lock',
      rate: 'holder',
      summary: 'Unlock by a beacon, which cannot set a header and may arrive late.',
      body: releaseBody,
      answers: { 200: success, 403: errorBody, 409: errorBody },
      async handle(request) {
        const { client_id, token } = request.body
        return unlockReply(await locks.unlock(request.room, await request.client(client_id), token))
      },
    }),
  ]
}

function readRoutes({ locks, roomQueues, settings, authorize }: Service, replies: LockReplies): Route[] {
  return [
    route('GET', LOCK_PATH, {
      id: 'readLock',
      headers: [CLIENT_HEADER],
      action: 'read',
      summary: 'The lock of the room: whether it is held, the holder, and the queue.',
      answers: { 200: lockState },
      async handle(request) {
        const { room } = request
        const client = await request.client()
        const lease = await locks.holder(room)
        const isYou = locks.isHolder(room, client, lease)
        return replies.state(lease, isYou, { room, client }, roomQueues.of(room))
      },
    }),
    route('POST', '/api/documents/locks', {
      id: 'readLocks',
      headers: [CLIENT_HEADER],
      action: 'identified',
      summary: 'The locks of many rooms, in their order.',
      body: roomsQuery,
      limit: 'maxDocument',
      answers: { 200: roomLocks, 403: errorBody },
      async handle(request) {
        const rooms = request.body.rooms.map((room) => checkRoom(room, settings.maxRoomBytes))
        for (const room of rooms)
          if (!(await authorize(request.identity, 'read', room))) throw forbidden('read', room)
        const client = await request.client()
        const leases = await locks.holders(rooms)
        return {
          body: {
            locks: rooms.map((room, n) => {
              const lease = leases[n] ?? null
              const { first, count } = roomQueues.of(room)
              return {
                room_id: room,
                waiting: first,
                waiting_count: count,
                ...replies.lockOf(lease, locks.isHolder(room, client, lease)),
              }
            }),
          },
        }
      },
    }),
  ]
}
