/** The writer of a context without locks of its own: it sends each operation to the coordinator. */
import { isObject } from '../base/arguments.ts'
import type { Clock } from '../base/clock.ts'
import { LeaseError, type LeaseErrorCode } from '../base/errors.ts'
import { pause } from '../base/pause.ts'
import { randomId } from '../base/random-id.ts'
import { type Format, show } from './format.ts'
import { SYNC_ACTIONS } from './messages.ts'
import { type Messenger, request, TIMED_OUT } from './messenger.ts'
import type { StorageAdapter } from './storage.ts'
import type { Writer } from './writer.ts'

/** A sleeping worker needs time to start. A worker that dies during the operation never answers. */
const ANSWER_MS = 3000
const TRIES = 4
const PAUSE_MS = 100

export interface WriteRequest {
  readonly action: typeof SYNC_ACTIONS.entityWrite
  readonly namespace: string
  readonly format: string
  /** The same in every try, so that the coordinator does not carry out the operation twice. */
  readonly requestId: string
  /** `swap`: stores `to` if the entity is still `from`. `null`: no entity. */
  readonly operation: 'prepare' | 'cleanup' | 'swap'
  readonly args: readonly unknown[]
}

export type WriteAnswer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: LeaseErrorCode; readonly message: string } }

export interface RemoteWriterOptions {
  readonly messenger: Messenger
  readonly namespace: string
  readonly format: Format
  readonly clock: Clock
  readonly closing: AbortSignal
  readonly storage: StorageAdapter
  /** The entity as this context shows it. */
  readonly shown: (id: string) => object | undefined
}

export function remoteWriter(options: RemoteWriterOptions): Writer {
  const { messenger, namespace, format, clock, closing, storage, shown } = options
  return {
    async prepare() {
      await send('prepare')
    },
    cleanup: () => send('cleanup') as Promise<readonly string[]>,
    async update(id, change) {
      let entity = shown(id)
      for (;;) {
        const next = change(entity)
        if (!next) return
        const { swapped, found } = (await send('swap', id, entity ?? null, next)) as Swapped
        if (swapped) return
        entity = found
      }
    },
  }

  async function send(operation: WriteRequest['operation'], ...args: readonly unknown[]): Promise<unknown> {
    const requestId = randomId()
    const { entityWrite: action } = SYNC_ACTIONS
    const message: WriteRequest = { action, namespace, format: show(format), requestId, operation, args }
    for (let tries = 0; tries < TRIES && !closing.aborted; tries++) {
      const answer = await request(messenger, message, { clock, timeoutMs: ANSWER_MS, signal: closing })
      if (isAnswer(answer)) return resultOf(answer)
      if (answer !== TIMED_OUT) await pause(clock, PAUSE_MS)
    }
    // After a reload of the extension, this says so.
    await storage.get([])
    throw new LeaseError(
      'store-unavailable',
      'the coordinator did not answer; it may or may not have carried out the write',
    )
  }
}

export interface Swapped {
  readonly swapped: boolean
  /** The stored entity, if it is not the expected one. */
  readonly found?: object
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
