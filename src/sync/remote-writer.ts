import { type Clock, LeaseError } from '../core/index.ts'
import { SYNC_ACTIONS } from './keys.ts'
import type { Messenger } from './messenger.ts'
import { ask, pause, TIMED_OUT } from './patience.ts'
import { isAnswer, WRITER_OPERATIONS, type WriteAnswer, type WriteRequest } from './write-request.ts'
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
  const remote =
    (operation: keyof Writer) =>
    async (...args: unknown[]) => {
      const request: WriteRequest = {
        action: SYNC_ACTIONS.entityWrite,
        requestId: crypto.randomUUID(),
        operation,
        // A trailing undefined would come out of JSON as null.
        args: args.filter((arg) => arg !== undefined),
      }
      for (let tries = 0; tries < TRIES && !closing.aborted; tries++) {
        const answer = await ask(messenger, request, { clock, ms: ANSWER_MS, signal: closing })
        if (isAnswer(answer)) return resultOf(answer)
        if (answer !== TIMED_OUT) await pause(clock, PAUSE_MS)
      }
      throw new LeaseError(
        'store-unavailable',
        'the coordinator did not answer; the write may have been done',
      )
    }
  return Object.fromEntries(
    WRITER_OPERATIONS.map((operation) => [operation, remote(operation)]),
  ) as unknown as Writer
}

function resultOf(answer: WriteAnswer): unknown {
  if ('error' in answer) throw new LeaseError(answer.error.code, answer.error.message)
  return answer.result
}
