import {
  alreadyLocked,
  errorBody,
  lockAsk,
  lockGranted,
  lockRenewed,
  lockState,
  releaseBody,
  success,
} from '../../protocol/index.ts'
import { timesOf } from '../announcer.ts'
import { integer, seconds } from '../http/query.ts'
import { type Route, route } from '../http/route.ts'
import type { Service } from '../service.ts'
import { LOCK_PATH, LockReplies, lockNotFound, named, notYours, unlockingReply } from './lock-replies.ts'

const token = integer(0, Number.MAX_SAFE_INTEGER, 'End only the lock with this token.')

/** What a browser calls to hold a room: lock, beat, unlock, look. */
export function lockRoutes({ locks, handover, line, settings, stats }: Service): Route[] {
  const replies = new LockReplies(settings)
  const wait = seconds(settings.maxWait / 1000, 'Seconds to stand in line.')
  return [
    route({
      ...{ method: 'POST', path: LOCK_PATH, id: 'lock', action: 'lock' },
      summary: 'Lock the room. Again by the holder, it renews.',
      ...{ query: { wait }, body: lockAsk },
      answers: { 200: lockGranted, 409: alreadyLocked },
      async handle(call) {
        const { room } = call
        const party = named(await call.party(), call.body.name)
        const ms = (call.query('wait', wait) ?? 0) * 1000
        const request = ms > 0 ? { wait: { ms, signal: call.signal } } : {}
        const locking = await locks.lock(room, party, request)
        if (!locking.granted) stats.onRefused()
        return replies.locking(locking, { room, party })
      },
    }),
    route({
      ...{ method: 'PUT', path: LOCK_PATH, id: 'beat', action: 'lock' },
      summary: 'Heartbeat: the lock lives on for its whole time from now.',
      answers: { 200: lockRenewed, 403: errorBody, 404: errorBody },
      async handle(call) {
        const beat = await locks.beat(call.room, await call.party())
        if (!beat.ok) throw beat.holder ? notYours() : lockNotFound()
        return { body: { success: true, ...timesOf(beat.lease), token: beat.lease.token } }
      },
    }),
    route({
      ...{ method: 'DELETE', path: LOCK_PATH, id: 'unlock', action: 'lock' },
      summary: 'Unlock, or leave the line. No lock is fine too.',
      query: { token },
      answers: { 200: success, 403: errorBody, 409: errorBody },
      async handle(call) {
        const party = await call.party()
        const onlyToken = call.query('token', token)
        if (onlyToken === undefined) handover.withdraw(call.room, party)
        return unlockingReply(await locks.unlock(call.room, party, onlyToken))
      },
    }),
    route({
      ...{ method: 'POST', path: `${LOCK_PATH}/release`, id: 'unlockByBeacon', action: 'lock' },
      summary: 'Unlock by a beacon, which can send no header and comes late.',
      body: releaseBody,
      answers: { 200: success, 403: errorBody, 409: errorBody },
      async handle(call) {
        const { client_id, token } = call.body
        return unlockingReply(await locks.unlock(call.room, await call.party(client_id), token))
      },
    }),
    route({
      ...{ method: 'GET', path: LOCK_PATH, id: 'readLock', action: 'read' },
      summary: 'Whether the room is locked, and by whom, and who waits.',
      answers: { 200: lockState },
      async handle(call) {
        const { room } = call
        const party = await call.party()
        const lease = await locks.holder(room)
        const isYou = locks.isHolder(room, party, lease)
        return replies.state(lease, isYou, { room, party }, line.of(room))
      },
    }),
  ]
}
