import { expectBoolean, expectMethods, expectOptions } from '../../base/arguments.ts'
import { expectClock } from '../../base/clock.ts'
import { expectDuration } from '../../base/duration.ts'
import { workerClock } from '../../worker-clock/index.ts'
import type { DocumentLock } from '../document-lock-types.ts'
import { type DraftCodec, textCodec } from './codecs.ts'
import type { Draft, DraftOptions } from './draft-types.ts'
import { LockDraft } from './lock-draft.ts'
import { createUnsavedCopy } from './unsaved-copy.ts'

const SAVE_AFTER_MS = 600
const SAVE_WITHIN_MS = 2000

/**
 * What a person types in one document: loaded after every grant, saved in order, kept in the browser while the server
 * does not have it, and merged with what others have saved in between. Create one for each lock object, let the user
 * write while `state.isWritable` is true, and call `edit` after each change. It saves before the lock is released or
 * handed over.
 *
 * @example
 * const draft = createDraft(lock)
 * draft.subscribe(() => show(draft.state.content, draft.state.status))
 * textarea.oninput = () => draft.edit(textarea.value)
 */
export function createDraft(lock: DocumentLock, options?: DraftOptions<string>): Draft<string>
export function createDraft<T>(
  lock: DocumentLock,
  options: DraftOptions<T> & { readonly codec: DraftCodec<T> },
): Draft<T>
export function createDraft<T>(lock: DocumentLock, options: DraftOptions<T> = {}): Draft<T> {
  expectMethods('lock', lock, 'a DocumentLock', 'subscribe', 'load', 'save', 'beforeRelease')
  expectOptions(options, { codec: 1, saveAfter: 1, saveWithin: 1, keep: 1, clock: 1 })
  const { codec = textCodec as unknown as DraftCodec<T>, keep = true, clock = workerClock() } = options
  expectMethods('codec', codec, 'a DraftCodec', 'encode', 'decode')
  expectBoolean('keep', keep)
  expectClock('clock', clock)
  const copy = keep ? createUnsavedCopy(JSON.stringify([lock.url, lock.roomId])) : undefined
  const afterMs = expectDuration('saveAfter', options.saveAfter ?? SAVE_AFTER_MS, 0)
  const withinMs = expectDuration('saveWithin', options.saveWithin ?? SAVE_WITHIN_MS, 0)
  return new LockDraft({ lock, codec, copy, clock, afterMs, withinMs })
}
