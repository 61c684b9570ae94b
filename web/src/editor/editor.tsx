import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import type { DocumentLock } from '../../../src/client/index.ts'
import { LockBanner, useDocumentLock } from '../../../src/react/index.ts'
import { PageHeader } from '../ui/page-header.tsx'
import { type Lang, usePreferences } from '../ui/preferences.ts'
import { CodeEditor } from './code-editor.tsx'
import { DocumentList } from './document-list.tsx'
import { Draft, type DraftState, type DraftStatus, EMPTY_DRAFT } from './draft.ts'
import { DroppedText, KeptText } from './kept-text.tsx'
import { Preview } from './preview.tsx'
import { type EditorTexts, editorTexts } from './texts.ts'
import { Tour } from './tour.tsx'
import { UnreadableText } from './unreadable-text.tsx'
import { createUnsavedCopy } from './unsaved-copy.ts'

const WRITABLE: readonly DraftStatus[] = ['saved', 'dirty', 'saving', 'refused', 'unreadable']
const noSubscription = () => () => {}

export function Editor({ roomId, hasTour }: { readonly roomId: string; readonly hasTour: boolean }) {
  const [{ lang, name }, change] = usePreferences()
  const { state, lock } = useDocumentLock(roomId, { name })
  const draft = useDraft(lock, roomId)
  const draftState = useSyncExternalStore(
    draft ? draft.subscribe : noSubscription,
    () => draft?.state ?? EMPTY_DRAFT,
  )
  const [pane, setPane] = useState<'write' | 'preview'>('write')
  const { text, status, dropped } = draftState
  const words = editorTexts[lang]
  const isHeld = state.held
  const isWritable = isHeld && WRITABLE.includes(status)
  const paper = useRef<HTMLElement>(null)
  useEffect(() => {
    document.title = `${roomId} · Holdfast`
  }, [roomId])
  useEffect(() => {
    // Keyboard users continue with the keyboard.
    if (isWritable && document.activeElement?.classList.contains('hf-banner'))
      paper.current?.querySelector<HTMLElement>('.cm-content')?.focus()
  }, [isWritable])
  const shared = { state: draftState, isHeld, words }
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
            onBlur={({ target }) => {
              const typed = target.value.trim()
              if (typed && typed !== name) change({ name: typed })
            }}
            onKeyDown={({ key, currentTarget }) => key === 'Enter' && currentTarget.blur()}
          />
        </label>
      </PageHeader>
      <main className="editor">
        {hasTour && <Tour state={state} draft={draftState} lang={lang} />}
        <DocumentList roomId={roomId} state={state} words={words} />
        <div className="desk">
          <LockBanner
            state={state}
            lock={lock}
            lang={lang}
            texts={words.banner}
            onHandOver={() => draft?.flush()}
          />
          {(status === 'kept' || status === 'refused') && draft && <KeptText draft={draft} {...shared} />}
          {status === 'unreadable' && draft && <UnreadableText draft={draft} {...shared} />}
          {dropped !== null && status === 'saved' && draft && <DroppedText draft={draft} words={words} />}
          <section className="card paper" ref={paper} data-writable={isWritable} data-pane={pane}>
            <div className="bar">
              <h2 className="grow">{roomId}</h2>
              <span className="token mono quiet" title={words.token}>
                {isHeld ? `#${state.token}` : ''}
              </span>
              <Status state={draftState} isHeld={isHeld} lang={lang} words={words} />
              <span className="panes-switch">
                {(['write', 'preview'] as const).map((name) => (
                  <button key={name} type="button" aria-pressed={pane === name} onClick={() => setPane(name)}>
                    {words[name]}
                  </button>
                ))}
              </span>
            </div>
            <div className="panes">
              <CodeEditor
                draft={draft}
                isWritable={isWritable}
                label={words.document}
                hint={status === 'saved' ? words.placeholder : ''}
              />
              <Preview text={text} label={words.preview} hint={words.emptyPreview} />
            </div>
          </section>
        </div>
      </main>
    </>
  )
}

interface StatusProps {
  readonly state: DraftState
  readonly isHeld: boolean
  readonly lang: Lang
  readonly words: EditorTexts
}

function Status({ state: { status, savedAt }, isHeld, lang, words }: StatusProps) {
  const time =
    savedAt &&
    new Date(savedAt).toLocaleTimeString(lang, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
  const saved = time ? words.savedAt(time) : words.nothingSaved
  return (
    <>
      <span className="read-only quiet">{isHeld || status === 'loading' ? '' : words.readOnly}</span>
      <span className="status" data-status={status} data-empty={savedAt === null}>
        {status === 'saved' ? saved : words.status[status]}
      </span>
    </>
  )
}

function useDraft(lock: DocumentLock | null, roomId: string): Draft | null {
  const [draft, setDraft] = useState<Draft | null>(null)
  useEffect(() => {
    if (!lock) return
    const opened = new Draft(lock, createUnsavedCopy(roomId))
    setDraft(opened)
    const stop = new AbortController()
    const { signal } = stop
    addEventListener('beforeunload', (event) => !opened.isSafe && event.preventDefault(), { signal })
    // Before the lock hears of it and is released: a waiter could get it before the save.
    addEventListener('pagehide', () => opened.onHidden(), { signal, capture: true })
    document.addEventListener('visibilitychange', () => document.hidden && opened.onHidden(), { signal })
    return () => {
      stop.abort()
      setDraft(null)
      opened.close()
    }
  }, [lock, roomId])
  return draft
}
