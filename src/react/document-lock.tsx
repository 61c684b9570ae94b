import type { ReactNode } from 'react'
import type {
  DocumentLockState,
  Draft,
  DraftCodec,
  DraftOptions,
  DraftState,
  DocumentLock as Lock,
} from '../client/index.ts'
import { DraftNotice, type DraftNoticeProps } from './draft-notice.tsx'
import { DraftStatusText } from './draft-status.tsx'
import type { DraftTexts } from './draft-texts.ts'
import { LockBanner, type LockBannerProps } from './lock-banner.tsx'
import type { LockTexts } from './lock-texts.ts'
import type { Language } from './provider.tsx'
import { type UseDocumentLockOptions, useDocumentLock } from './use-document-lock.ts'
import { useDraft } from './use-draft.ts'

/** What the function inside `<DocumentLock>` gets to show the document. */
export interface DocumentView<T> {
  readonly content: T
  /** Whether the user may write now. */
  readonly isWritable: boolean
  /** The user has changed the content. It is saved by itself. */
  readonly edit: Draft<T>['edit']
  readonly draftState: DraftState<T>
  readonly lockState: DocumentLockState
  readonly draft: Draft<T> | null
  readonly lock: Lock | null
}

interface CommonProps<T> extends UseDocumentLockOptions {
  readonly roomId: string
  /** Default: that of the `<HoldfastProvider>`, or `en`. */
  readonly lang?: Language | undefined
  /** Replaces some of the texts of the banner. */
  readonly lockTexts?: Partial<LockTexts> | undefined
  /** Replaces some of the texts about saved and unsaved content. */
  readonly draftTexts?: Partial<DraftTexts> | undefined
  /** Calls a person who looks at another tab when somebody asks for the lock, by the title of the page. */
  readonly attention?: LockBannerProps['attention']
  /** The options of the draft. Those of the first render count. */
  readonly draft?: DraftOptions<T> | undefined
  /** Content as text, to copy and to compare it. Default: text as it is, anything else as JSON. */
  readonly toText?: DraftNoticeProps<T>['toText']
  /** Compares two texts in place of `TextComparison`, for example with the editor of your page. */
  readonly compare?: DraftNoticeProps<T>['compare']
  /** Shows the document. */
  readonly children: (view: DocumentView<T>) => ReactNode
}

export interface TextDocumentLockProps extends CommonProps<string> {}

export interface DocumentLockProps<T> extends CommonProps<T> {
  readonly draft: DraftOptions<T> & { readonly codec: DraftCodec<T> }
}

/**
 * A document that one person at a time edits, and that loses nothing: who is editing, whether everything is saved, and
 * what to do with text that could not be saved. The function inside shows the document itself.
 *
 * @example
 * <DocumentLock roomId="minutes-42" name="Mika">
 *   {({ content, edit, isWritable }) => (
 *     <textarea readOnly={!isWritable} value={content} onChange={({ target }) => edit(target.value)} />
 *   )}
 * </DocumentLock>
 */
export function DocumentLock(props: TextDocumentLockProps): ReactNode
export function DocumentLock<T>(props: DocumentLockProps<T>): ReactNode
export function DocumentLock<T>(props: CommonProps<T>): ReactNode {
  const { roomId, url, name, headers, idleAfter, presence = true, lang, lockTexts, draftTexts } = props
  const { toText, compare, children } = props
  const { state: lockState, lock } = useDocumentLock(roomId, { url, name, headers, idleAfter, presence })
  const { state: draftState, draft } = useDraft(lock, props.draft as DocumentLockProps<T>['draft'])
  const { content, isWritable } = draftState
  const edit: Draft<T>['edit'] = (changed) => draft?.edit(changed)
  return (
    <div className="holdfast hf-document">
      <LockBanner
        state={lockState}
        lock={lock}
        draft={draftState}
        lang={lang}
        attention={props.attention}
        texts={lockTexts}
        onHandoff={() => draft?.flush()}
      />
      <DraftNotice
        state={draftState}
        draft={draft}
        isHeld={lockState.held}
        lang={lang}
        texts={draftTexts}
        toText={toText}
        compare={compare}
      />
      {children({ content, isWritable, edit, draftState, lockState, draft, lock })}
      <DraftStatusText state={draftState} lang={lang} texts={draftTexts} />
    </div>
  )
}
