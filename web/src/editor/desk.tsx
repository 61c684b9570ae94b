import { Suspense, useEffect, useRef, useState } from 'react'
import type { DocumentLock, DocumentLockState, Draft, DraftState } from '../../../src/client/index.ts'
import {
  type Attention,
  Avatar,
  DraftNotice,
  DraftStatusText,
  LockBanner,
  useDocumentLock,
  useDraft,
} from '../../../src/react/index.ts'
import { lazyPart } from '../ui/lazy-part.tsx'
import type { Lang } from '../ui/preferences.ts'
import { SERVICE_URL } from '../ui/service-url.ts'
import { shortToken } from '../ui/short-token.ts'
import { guestHeaders } from './guest.ts'
import { setPlugged, usePlugged } from './plug.ts'
import { TOUR_ROOM } from './rooms.ts'
import { editorTexts } from './texts.ts'
import { tourTexts } from './tour-texts.ts'
import { welcomeCodec } from './welcome.ts'

/** Most of the page's bytes are CodeMirror. Who edits is shown before they are here. */
const CodeEditor = lazyPart(async () => (await import('./code-editor.tsx')).CodeEditor)
const Preview = lazyPart(async () => (await import('./preview.tsx')).Preview)
const Comparison = lazyPart(async () => (await import('./comparison.tsx')).Comparison)

const IDLE_AFTER = '5m'

/** One document, as this person has it open. */
export interface OpenDocument {
  readonly roomId: string
  readonly state: DocumentLockState
  readonly lock: DocumentLock | null
  readonly draftState: DraftState<string>
  readonly draft: Draft<string> | null
}

/** In which language a text begins that nobody has changed yet. */
export interface TextLanguage {
  readonly textLang: Lang
  readonly onTextLang: (lang: Lang) => void
}

export function useDocument(
  roomId: string,
  name: string,
  { lang, textLang, onTextLang }: TextLanguage & { readonly lang: Lang },
): OpenDocument {
  const { state, lock } = useDocumentLock(roomId, {
    name,
    url: SERVICE_URL,
    idleAfter: IDLE_AFTER,
    presence: true,
    headers: guestHeaders,
  })
  const options = roomId === TOUR_ROOM ? { codec: welcomeCodec(textLang) } : {}
  const { state: draftState, draft } = useDraft(lock, options)
  const { status, savedAt } = draftState
  const isUntouched = state.holder === null && status === 'saved' && savedAt === null
  useEffect(() => {
    if (lang !== textLang && isUntouched) onTextLang(lang)
  }, [lang, textLang, isUntouched, onTextLang])
  return { roomId, state, lock, draftState, draft }
}

interface DeskProps {
  readonly open: OpenDocument
  readonly name: string
  readonly lang: Lang
  /** A line above the document says whose side this is, and can cut it off. */
  readonly hasPlug: boolean
  readonly attention?: Attention | undefined
}

/** The document of one person: who edits, and the text. */
export function Desk({ open, name, lang, hasPlug, attention }: DeskProps) {
  const { roomId, state, lock, draftState, draft } = open
  const [pane, setPane] = useState<'write' | 'preview'>('write')
  const { status, isWritable } = draftState
  const words = editorTexts[lang]
  const isHeld = state.held
  const paper = useRef<HTMLElement>(null)
  useEffect(() => {
    // Keyboard users continue with the keyboard.
    if (isWritable && document.activeElement?.classList.contains('hf-banner'))
      paper.current?.querySelector<HTMLElement>('.cm-content')?.focus()
  }, [isWritable])
  const statusWords = roomId === TOUR_ROOM ? { nothingSaved: words.unchanged } : undefined
  return (
    <div className="desk">
      {hasPlug && <Side state={state} name={name} lang={lang} />}
      <LockBanner
        state={state}
        lock={lock}
        draft={draftState}
        lang={lang}
        texts={words.banner}
        attention={attention}
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
          <h2 className="grow" dir="auto">
            {roomId}
          </h2>
          <span className="token mono quiet" title={words.token(state.token)}>
            {isHeld && state.token !== null ? `#${shortToken(state.token)}` : ''}
          </span>
          <span className="read-only quiet">{isHeld || status === 'loading' ? '' : words.readOnly}</span>
          <DraftStatusText state={draftState} lang={lang} texts={statusWords} />
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
  )
}

/** Whose side of the window this is. */
function Side({ state, name, lang }: Pick<DeskProps, 'name' | 'lang'> & Pick<OpenDocument, 'state'>) {
  const words = tourTexts[lang]
  const isPlugged = usePlugged()
  useEffect(() => () => setPlugged(true), [])
  return (
    <div className="side bar">
      <Avatar id={state.me?.sessionId ?? ''} name={name} />
      <span className="grow">
        <bdi>{name}</bdi>
      </span>
      <button
        type="button"
        disabled={isPlugged && !state.held}
        className={isPlugged ? undefined : 'primary'}
        onClick={() => setPlugged(!isPlugged)}
      >
        {isPlugged ? words.pull : words.plugIn}
      </button>
    </div>
  )
}
