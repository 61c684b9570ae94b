import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import type { DocumentLock } from '../../../src/client/index.ts'
import { LockBanner, useDocumentLock } from '../../../src/react/index.ts'
import { PageHeader } from '../ui/page-header.tsx'
import { usePreferences } from '../ui/preferences.ts'
import { Draft, type DraftState, type DraftStatus } from './draft.ts'
import { KeptText } from './kept-text.tsx'
import { editorTexts } from './texts.ts'
import { UnreadableText } from './unreadable-text.tsx'

const EMPTY: DraftState = { text: '', status: 'loading', stored: '', reason: '' }
const EDITABLE: readonly DraftStatus[] = ['saved', 'dirty', 'saving', 'refused', 'unreadable']

export function Editor({ roomId }: { roomId: string }) {
  const [{ lang, name }, change] = usePreferences()
  const { state, lock } = useDocumentLock(roomId, { name })
  const draft = useDraft(lock)
  const draftState = useSyncExternalStore(
    (listener) => draft?.subscribe(listener) ?? (() => {}),
    () => draft?.state ?? EMPTY,
  )
  const { text, status } = draftState
  const words = editorTexts[lang]
  const isHeld = state.held
  const isEditable = isHeld && EDITABLE.includes(status)
  const area = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    // Keyboard users continue with the keyboard.
    if (isEditable && document.activeElement?.classList.contains('hf-banner')) area.current?.focus()
  }, [isEditable])
  return (
    <>
      <PageHeader current="editor">
        <label className="bar">
          <span className="quiet">{words.name}</span>
          <input
            key={name}
            size={12}
            maxLength={40}
            defaultValue={name}
            onBlur={({ target }) => change({ name: target.value.trim() || name })}
            onKeyDown={({ key, currentTarget }) => key === 'Enter' && currentTarget.blur()}
          />
        </label>
      </PageHeader>
      <main className="editor">
        <LockBanner state={state} lock={lock} lang={lang} onHandOver={() => draft?.flush()} />
        {(status === 'kept' || status === 'refused') && draft && (
          <KeptText draft={draft} state={draftState} isHeld={isHeld} words={words} />
        )}
        {status === 'unreadable' && draft && (
          <UnreadableText draft={draft} state={draftState} isHeld={isHeld} words={words} />
        )}
        <section className="card paper" data-writable={isEditable}>
          <div className="bar">
            <h2 className="grow">
              {words.document} <span className="mono">{roomId}</span>
            </h2>
            <span className="token mono quiet">{isHeld ? `#${state.token}` : ''}</span>
            <span className="status" data-status={status}>
              {words.status[status]}
            </span>
          </div>
          <textarea
            aria-label={words.document}
            placeholder={status === 'saved' ? words.placeholder : undefined}
            ref={area}
            readOnly={!isEditable}
            value={text}
            onChange={({ target }) => draft?.edit(target.value)}
          />
        </section>
        <p className="quiet">{words.hint}</p>
      </main>
    </>
  )
}

function useDraft(lock: DocumentLock | null): Draft | null {
  const [draft, setDraft] = useState<Draft | null>(null)
  useEffect(() => {
    if (!lock) return
    const opened = new Draft(lock)
    setDraft(opened)
    const stop = new AbortController()
    const { signal } = stop
    addEventListener('beforeunload', (event) => !opened.isSafe && event.preventDefault(), { signal })
    document.addEventListener('visibilitychange', () => void opened.flush().catch(() => {}), { signal })
    return () => {
      stop.abort()
      setDraft(null)
      opened.close()
    }
  }, [lock])
  return draft
}
