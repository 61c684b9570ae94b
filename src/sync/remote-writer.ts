import { randomId } from '../base/random-id.ts'
import { type Clock, LeaseError } from '../core/index.ts'
import { SYNC_ACTIONS } from './keys.ts'
import type { Messenger } from './messenger.ts'
import { ask, pause, TIMED_OUT } from './patience.ts'
import { isAnswer, type WriteAnswer, type WriteRequest } from './write-request.ts'
import type { Writer } from './writer.ts'

/** A worker that was asleep needs time to wake; one that died in mid-operation never answers. */
const ANSWER_MS = 3000
const TRIES = 4
const PAUSE_MS = 100

export interface RemoteWriterOptions {
  readonly messenger: Messenger
  readonly clock: Clock
  readonly closing: AbortSignal
}

/** Sends every operation to the coordinator, and again when no answer comes. */
export function remoteWriter({ messenger, clock, closing }: RemoteWriterOptions): Writer {
  return {
    prepare: () => send('prepare'),
    set: (...args) => send('set', args),
    patch: (...args) => send('patch', args),
    remove: (...args) => send('remove', args),
    reset: () => send('reset'),
    updateSettings: (...args) => send('updateSettings', args),
    cleanup: (...args) => send('cleanup', args),
  }

  async function send<K extends keyof Writer>(
    operation: K,
    args: readonly unknown[] = [],
  ): Promise<Awaited<ReturnType<Writer[K]>>> {
    const request: WriteRequest = {
      action: SYNC_ACTIONS.entityWrite,
      requestId: randomId(),
      operation,
      // A trailing undefined would come out of JSON as null.
      args: args.filter((arg) => arg !== undefined),
    }
    for (let tries = 0; tries < TRIES && !closing.aborted; tries++) {
      const answer = await ask(messenger, request, { clock, ms: ANSWER_MS, signal: closing })
      if (isAnswer(answer)) return resultOf(answer) as Awaited<ReturnType<Writer[K]>>
      if (answer !== TIMED_OUT) await pause(clock, PAUSE_MS)
    }
    throw new LeaseError('store-unavailable', 'no answer of the coordinator; the write may have been done')
  }
}

function resultOf(answer: WriteAnswer): unknown {
  if ('error' in answer) throw new LeaseError(answer.error.code, answer.error.message)
  return answer.result
}
