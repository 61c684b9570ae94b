import {
  alreadyLocked,
  errorBody,
  handoverAnswer,
  lockAsk,
  lockGranted,
  success,
} from '../../protocol/index.ts'
import { HttpError } from '../http/http-error.ts'
import { type Route, route } from '../http/route.ts'
import type { Service } from '../service.ts'
import { LOCK_PATH, LockReplies, lockNotFound, named, notYours } from './lock-replies.ts'

/** From one holder to the next. */
export function handoverRoutes({ handover, locks, settings }: Service): Route[] {
  const replies = new LockReplies(settings)
  return [
    route({
      ...{ method: 'POST', path: `${LOCK_PATH}/takeover`, id: 'takeOver', action: 'takeover' },
      summary: 'Take over. The holder is told and has a grace to save; the call is open meanwhile.',
      body: lockAsk,
      answers: { 200: lockGranted, 409: alreadyLocked },
      async handle(call) {
        const { room } = call
        const party = named(await call.party(), call.body.name)
        return replies.locking(await handover.takeOver(room, party, call.signal), { room, party })
      },
    }),
    route({
      ...{ method: 'POST', path: `${LOCK_PATH}/request`, id: 'requestLock', action: 'lock' },
      summary: 'Ask the holder to hand over. The call is open until it answers, or its time is over.',
      body: lockAsk,
      answers: { 200: lockGranted, 409: errorBody },
      async handle(call) {
        const { room } = call
        const party = named(await call.party(), call.body.name)
        const asked = await handover.request(room, party, call.signal)
        if (typeof asked === 'object') return replies.locking(asked, { room, party })
        const how = asked === 'declined' ? 'the holder declined' : 'the holder did not answer'
        throw new HttpError(409, `handover_${asked}`, how)
      },
    }),
    route({
      ...{ method: 'POST', path: `${LOCK_PATH}/request/answer`, id: 'answerRequest', action: 'lock' },
      summary: 'The holder hands over, or declines.',
      body: handoverAnswer,
      answers: { 200: success, 403: errorBody, 404: errorBody },
      async handle(call) {
        const { request_id, granted } = call.body
        if (await handover.answer(call.room, await call.party(), request_id, granted))
          return { body: { success: true } }
        throw (await locks.holder(call.room)) ? notYours() : lockNotFound()
      },
    }),
  ]
}
