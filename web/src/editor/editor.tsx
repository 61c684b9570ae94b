import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import {
  DraftNotice,
  DraftStatusText,
  LockBanner,
  useDocumentLock,
  useDraft,
} from '../../../src/react/index.ts'
import { PageHeader } from '../ui/page-header.tsx'
import { usePreferences } from '../ui/preferences.ts'
import { SERVICE_URL } from '../ui/service-url.ts'
import { DocumentList } from './document-list.tsx'
import { editorTexts } from './texts.ts'
import { Tour } from './tour.tsx'

/** Most of the page's bytes are CodeMirror. Who edits is shown before they are here. */
const CodeEditor = lazy(async () => ({ default: (await import('./code-editor.tsx')).CodeEditor }))
const Preview = lazy(async () => ({ default: (await import('./preview.tsx')).Preview }))
const Comparison = lazy(async () => ({ default: (await import('./comparison.tsx')).Comparison }))

const IDLE_AFTER = '5m'
const ATTENTION = { icon: './icon-asking.svg', notification: true }

export function Editor({ roomId, hasTour }: { readonly roomId: string; readonly hasTour: boolean }) {
  const [{ lang, name }, change] = usePreferences()
  const { state, lock } = useDocumentLock(roomId, {
    name,
    url: SERVICE_URL,
    idleAfter: IDLE_AFTER,
    presence: true,
  })
  const { state: draftState, draft } = useDraft(lock)
  const [pane, setPane] = useState<'write' | 'preview'>('write')
  const { status, isWritable } = draftState
  const words = editorTexts[lang]
  const isHeld = state.held
  const paper = useRef<HTMLElement>(null)
  useEffect(() => {
    document.title = `${roomId} · Holdfast`
  }, [roomId])
  useEffect(() => {
    // Keyboard users continue with the keyboard.
    if (isWritable && document.activeElement?.classList.contains('hf-banner'))
      paper.current?.querySelector<HTMLElement>('.cm-content')?.focus()
  }, [isWritable])
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
            draft={draftState}
            lang={lang}
            texts={words.banner}
            attention={ATTENTION}
            onHandoff={() => draft?.flush()}
          />
          <DraftNotice
            state={draftState}
            draft={draft}
            isHeld={isHeld}
            lang={lang}
            compare={({ onEdit = () => {}, ...texts }) => (
              <Suspense>
                <Comparison {...texts} words={words} onEdit={(mine) => onEdit(mine())} />
              </Suspense>
            )}
          />
          <section className="card paper" ref={paper} data-writable={isWritable} data-pane={pane}>
            <div className="bar">
              <h2 className="grow">{roomId}</h2>
              <span className="token mono quiet" title={words.token}>
                {isHeld ? `#${state.token}` : ''}
              </span>
              <span className="read-only quiet">{isHeld || status === 'loading' ? '' : words.readOnly}</span>
              <DraftStatusText state={draftState} lang={lang} />
              <span className="panes-switch">
                {(['write', 'preview'] as const).map((name) => (
                  <button key={name} type="button" aria-pressed={pane === name} onClick={() => setPane(name)}>
                    {words[name]}
                  </button>
                ))}
              </span>
            </div>
            <div className="panes">
              <Suspense fallback={<div className="code" />}>
                <CodeEditor
                  draft={draft}
                  isWritable={isWritable}
                  label={words.document}
                  hint={status === 'saved' ? words.placeholder : ''}
                />
                <Preview
                  draft={draftState}
                  label={words.preview}
                  hint={words.emptyPreview}
                  more={words.longPreview}
                />
              </Suspense>
            </div>
          </section>
        </div>
      </main>
    </>
  )
}
