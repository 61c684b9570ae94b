import { expectMethods } from '../../base/arguments.ts'
import type { DocumentLock } from '../document-lock-types.ts'
import type { DraftCodec } from './codecs.ts'
import type { Draft } from './draft-types.ts'
import { LockDraft } from './lock-draft.ts'
import { checkDraftOptions, type DraftOptions } from './options.ts'
import { UnsavedCopy } from './unsaved-copy.ts'

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
  const { keep, ...checked } = checkDraftOptions(options)
  const copy = keep ? new UnsavedCopy(JSON.stringify([lock.url, lock.roomId])) : undefined
  return new LockDraft({ lock, copy, ...checked })
}
