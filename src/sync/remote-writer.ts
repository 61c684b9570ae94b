/** Writes of a context without locks of its own: it sends each operation to the coordinator and waits for the answer. */
import { isObject } from '../base/arguments.ts'
import type { Clock } from '../base/clock.ts'
import { LeaseError, type LeaseErrorCode } from '../base/errors.ts'
import { pause } from '../base/pause.ts'
import { randomId } from '../base/random-id.ts'
import { SYNC_ACTIONS } from './messages.ts'
import { type Messenger, request, TIMED_OUT } from './messenger.ts'
import type { Writer } from './writer.ts'

/** A sleeping worker needs time to start. A worker that dies during the operation never answers. */
const ANSWER_MS = 3000
const TRIES = 4
const PAUSE_MS = 100

export interface WriteRequest {
  readonly action: typeof SYNC_ACTIONS.entityWrite
  /** The same in every try, so that the coordinator does not carry out the operation twice. */
  readonly requestId: string
  readonly operation: keyof Writer
  readonly args: readonly unknown[]
}

export type WriteAnswer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: LeaseErrorCode; readonly message: string } }

export interface RemoteWriterOptions {
  readonly messenger: Messenger
  readonly clock: Clock
  readonly closing: AbortSignal
}

/** Sends every operation to the coordinator, and sends it again if no answer comes. */
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
    const message: WriteRequest = {
      action: SYNC_ACTIONS.entityWrite,
      requestId: randomId(),
      operation,
      // JSON would turn a trailing `undefined` into `null`.
      args: args.filter((arg) => arg !== undefined),
    }
    for (let tries = 0; tries < TRIES && !closing.aborted; tries++) {
      const answer = await request(messenger, message, { clock, timeoutMs: ANSWER_MS, signal: closing })
      if (isAnswer(answer)) return resultOf(answer) as Awaited<ReturnType<Writer[K]>>
      if (answer !== TIMED_OUT) await pause(clock, PAUSE_MS)
    }
    throw new LeaseError(
      'store-unavailable',
      'the coordinator did not answer; it may or may not have carried out the write',
    )
  }
}

function isAnswer(answer: unknown): answer is WriteAnswer {
  if (!isObject(answer)) return false
  const { result, error } = answer
  return 'error' in answer ? isObject(error) : Object(result) === result
}

function resultOf(answer: WriteAnswer): unknown {
  if ('error' in answer) throw new LeaseError(answer.error.code, answer.error.message)
  return answer.result
}
