import * as v from 'valibot'
import {
  alreadyLocked,
  CLIENT_HEADER,
  errorBody,
  handoffAnswer,
  handoffPending,
  lockAsk,
  lockGranted,
  success,
} from '../../protocol/index.ts'
import type { HandoffCall, StillAsked } from '../handoff.ts'
import { HttpError } from '../http/http-error.ts'
import { seconds } from '../http/query.ts'
import { type Reply, type Route, route } from '../http/route.ts'
import type { Service } from '../service.ts'
import { LOCK_PATH, LockReplies, lockNotFound, named, notYours } from './lock-replies.ts'

/** Handing a lock from one holder to the next. */
export function handoffRoutes(service: Service): Route[] {
  const { handoff, waiterLimits, settings } = service
  const wait = seconds(
    settings.maxWait / 1000,
    'Seconds after which the request ends with `handoff_pending`, if the holder has not decided. Ask again within 3 seconds to go on waiting.',
  )
  const replies = new LockReplies(service)
  return [
    route('POST', `${LOCK_PATH}/takeover`, {
      id: 'takeOver',
      headers: [CLIENT_HEADER],
      action: 'takeover',
      summary:
        'Take over. The holder is told and has a grace period to save. The request stays open meanwhile.',
      query: { wait },
      body: lockAsk,
      answers: { 200: lockGranted, 409: v.union([alreadyLocked, handoffPending, errorBody]) },
      async handle(request) {
        const { room } = request
        const client = named(await request.client(), request.body.name)
        const call = callOf(request.query('wait', wait), request.signal)
        const result = await waiterLimits.run(request, () => handoff.takeOver(room, client, call))
        return 'answerWithinMs' in result ? stillAsked(result) : replies.lock(result, { room, client })
      },
    }),
    route('POST', `${LOCK_PATH}/request`, {
      id: 'requestLock',
      headers: [CLIENT_HEADER],
      action: 'lock',
      summary:
        'Ask the holder to hand over. The request stays open until the holder answers or its time is over.',
      query: { wait },
      body: lockAsk,
      answers: { 200: lockGranted, 409: v.union([alreadyLocked, handoffPending, errorBody]) },
      async handle(request) {
        const { room } = request
        const client = named(await request.client(), request.body.name)
        const call = callOf(request.query('wait', wait), request.signal)
        const result = await waiterLimits.run(request, () => handoff.request(room, client, call))
        if (typeof result === 'object')
          return 'answerWithinMs' in result ? stillAsked(result) : replies.lock(result, { room, client })
        const message = result === 'declined' ? 'the holder declined' : 'the holder did not answer'
        throw new HttpError(409, `handover_${result}`, message)
      },
    }),
    route('POST', `${LOCK_PATH}/request/answer`, {
      id: 'answerRequest',
      headers: [CLIENT_HEADER],
      action: 'lock',
      summary:
        'The holder hands over, declines, or asks for more time. A takeover can neither be declined nor postponed.',
      body: handoffAnswer,
      answers: { 200: success, 403: errorBody, 404: errorBody, 409: errorBody },
      async handle(request) {
        const client = await request.client()
        const outcome = await handoff.answer(request.room, client, request.body)
        if (outcome === 'no-lock') throw lockNotFound()
        if (outcome === 'not-yours') throw notYours()
        if (outcome === 'no-request')
          throw new HttpError(404, 'request_not_found', 'no open request to you has this id')
        if (outcome === 'takeover')
          throw new HttpError(
            409,
            'takeover_not_declinable',
            'a takeover can neither be declined nor postponed; save before its grace period is over',
          )
        return { body: { success: true } }
      },
    }),
  ]
}

function callOf(seconds: number | undefined, signal: AbortSignal): HandoffCall {
  return { signal, waitMs: seconds === undefined ? undefined : seconds * 1000 }
}

function stillAsked({ answerWithinMs, postponedMs }: StillAsked): Reply {
  return {
    status: 409,
    body: {
      error: 'handoff_pending',
      message: 'the holder has not answered yet; ask again to go on waiting',
      answer_within_ms: answerWithinMs,
      ...(postponedMs > 0 && { postponed_ms: postponedMs }),
    },
  }
}
