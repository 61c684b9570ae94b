/** `<DocumentLock>` in every state, one below the other. The parts are the same, but their states are given. */
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import {
  type DocumentHolder,
  type DocumentLock,
  type DocumentLockState,
  type Draft,
  type DraftState,
  INITIAL_STATE,
  type Participant,
} from '../../../src/client/index.ts'
import { LeaseError } from '../../../src/core/index.ts'
import { DraftNotice, DraftStatusText, LockBanner } from '../../../src/react/index.ts'

const root = createRoot(document.body.appendChild(document.createElement('main')))
const MINE = 'Agenda\n\n- Budget of next year\n- The new office'
const THEIRS = 'Agenda\n\n- Budget of this year\n- The new office'
const ME = { sessionId: 's1', clientId: 'c1', name: 'Mika' }
const SINCE = Date.UTC(2026, 10, 14, 9, 5)
/** Far away, so that a picture does not depend on the moment. */
const LATER = Date.now() + 3_600_000
const KEN: DocumentHolder = {
  sessionId: 's2',
  clientId: 'c2',
  name: 'Ken',
  token: 7,
  since: SINCE,
  expiresAt: LATER,
  isMe: false,
}
const HOLDER = { ...ME, token: 8, since: SINCE, expiresAt: LATER, isMe: true }
const HELD: Partial<DocumentLockState> = { phase: 'held', held: true, token: 8, holder: HOLDER }
const READ_ONLY: Partial<DocumentLockState> = { phase: 'read-only', holder: KEN }
const UNSAVED: Partial<DraftState<string>> = { content: MINE, isUnsaved: true }
const NO_ANSWER = new LeaseError('store-unavailable', 'the server cannot be reached')
const CONFLICT = { ...UNSAVED, status: 'conflict', isOutdated: true, theirs: THEIRS } as const
const TOO_LONG = new LeaseError('too-large', 'too large', { cause: { status: 413, limit: 1_048_576 } })
const FORBIDDEN = new LeaseError('store-failed', 'forbidden', { cause: { status: 403 } })
const AOI = { sessionId: 's3', clientId: 'c3', name: 'Aoi' }
const request = (kind: 'request' | 'takeover') =>
  ({ id: 'r', name: 'Ken', kind, until: LATER, isOwn: false, passes: [], postponedUntil: null }) as const
const PEOPLE: Participant[] = [
  { ...ME, role: 'editing', place: null, isMe: true },
  { ...AOI, role: 'waiting', place: 0, isMe: false },
  { sessionId: 's4', name: '山田 太郎', role: 'waiting', place: 1, isMe: false },
  ...['Jonas Berg', null, 'Ria', 'Noor', 'Ken'].map((name, n) => ({
    ...{ sessionId: `viewer-${n}`, name, role: 'viewing' as const, place: null, isMe: false },
  })),
]
const OWN_TAB: DocumentHolder = { ...HOLDER, clientId: 'c9', isMe: false }
/** It never changes. */
const LOCK = { subscribe: () => () => {}, beforeRelease: () => () => {} } as unknown as DocumentLock

type State = readonly [Partial<DocumentLockState>, Partial<DraftState<string>>?]

const STATES: Readonly<Record<string, State>> = {
  connecting: [{ me: null, connected: false }, { status: 'loading' }],
  'no connection yet': [
    { me: null, connected: false, error: NO_ANSWER },
    { status: 'loading', error: NO_ANSWER },
  ],
  'no connection after a reload': [
    { me: null, connected: false, error: NO_ANSWER },
    { ...UNSAVED, status: 'kept', error: NO_ANSWER },
  ],
  idle: [{}],
  'nothing saved yet': [{}, { savedAt: null }],
  'idle, offline': [{ connected: false }],
  acquiring: [{ phase: 'acquiring' }],
  held: [HELD],
  'held, not saved yet': [HELD, { ...UNSAVED, status: 'dirty' }],
  'held, saving': [HELD, { ...UNSAVED, status: 'saving' }],
  'held, one waits': [{ ...HELD, waiting: 1, waiters: [KEN] }],
  'held, three wait': [{ ...HELD, waiting: 3, waiters: [KEN] }],
  'held, one without a name waits': [{ ...HELD, waiting: 1 }],
  'held, asked': [{ ...HELD, request: request('request') }],
  'held, asked from further back': [{ ...HELD, request: { ...request('request'), passes: [AOI, ME] } }],
  'held, asked by the own tab': [{ ...HELD, request: { ...request('request'), isOwn: true } }],
  'held, asked, postponed': [{ ...HELD, request: { ...request('request'), postponedUntil: LATER } }],
  'held, idle': [{ ...HELD, waiting: 1, waiters: [KEN], idle: { until: LATER, isOver: false } }],
  'read-only, was idle': [{ ...READ_ONLY, idle: { until: 0, isOver: true } }],
  'read-only, postponed': [{ ...READ_ONLY, demand: 'postponed', postponedUntil: LATER }],
  'held, with people': [{ ...HELD, waiting: 2, waiters: [AOI], people: PEOPLE }],
  'read-only, with people': [{ ...READ_ONLY, people: PEOPLE.slice(0, 3) }],
  'held, taken over': [{ ...HELD, request: request('takeover') }],
  troubled: [
    { ...HELD, phase: 'troubled', connected: false, error: NO_ANSWER },
    { ...UNSAVED, status: 'dirty', error: NO_ANSWER },
  ],
  'signed out while editing': [
    { ...HELD, phase: 'signed-out' },
    { ...UNSAVED, status: 'dirty' },
  ],
  'signed out': [{ phase: 'signed-out' }],
  'read-only': [READ_ONLY],
  'read-only, own tab': [{ ...READ_ONLY, holder: OWN_TAB }],
  'read-only, own tab, asking': [{ ...READ_ONLY, holder: OWN_TAB, demand: 'asking' }],
  'lost to the own tab': [{ phase: 'lost', holder: OWN_TAB }],
  'read-only, without a name': [{ ...READ_ONLY, holder: { ...KEN, name: null } }],
  'read-only, offline': [{ ...READ_ONLY, connected: false }],
  'read-only, asking': [{ ...READ_ONLY, demand: 'asking' }],
  'read-only, taking over': [{ ...READ_ONLY, demand: 'taking-over' }],
  'read-only, declined': [{ ...READ_ONLY, demand: 'declined' }],
  'read-only, unanswered': [{ ...READ_ONLY, demand: 'unanswered' }],
  'read-only, failed': [{ ...READ_ONLY, demand: 'failed' }],
  waiting: [{ phase: 'waiting', holder: KEN, place: 2 }],
  'waiting, next': [{ phase: 'waiting', holder: KEN, place: 0 }],
  'waiting, passed': [{ phase: 'waiting', holder: KEN, place: 0, passedBy: request('request') }],
  'waiting, free': [{ phase: 'waiting' }],
  'waiting, declined': [{ phase: 'waiting', holder: KEN, place: 1, demand: 'declined' }],
  lost: [{ phase: 'lost' }],
  'lost, kept': [{ phase: 'lost' }, { ...UNSAVED, status: 'kept' }],
  'lost, offline': [
    { phase: 'lost', connected: false },
    { ...UNSAVED, status: 'kept', error: NO_ANSWER },
  ],
  'lost to Ken, who changed other parts': [
    { phase: 'lost', holder: KEN },
    { ...UNSAVED, status: 'kept', isOutdated: true },
  ],
  'lost to Ken, conflict': [{ phase: 'lost', holder: KEN }, CONFLICT],
  'held, conflict': [HELD, CONFLICT],
  'held, kept': [HELD, { ...UNSAVED, status: 'kept' }],
  'held, took theirs': [HELD, { content: THEIRS, dropped: MINE }],
  'kept, took theirs': [{ phase: 'lost' }, { ...UNSAVED, status: 'kept', dropped: MINE }],
  'held, too long': [HELD, { ...UNSAVED, status: 'refused', error: TOO_LONG }],
  'held, refused': [HELD, { ...UNSAVED, status: 'refused', error: FORBIDDEN }],
  'held, unreadable': [HELD, { status: 'unreadable', content: '' }],
  'held, unreadable, written': [HELD, { ...UNSAVED, status: 'unreadable' }],
  'idle, unreadable': [{}, { status: 'unreadable', content: '' }],
  'no answer': [{ phase: 'error', error: NO_ANSWER }],
  'may not edit': [{ phase: 'error', error: FORBIDDEN }],
}

export interface Look {
  readonly lang: 'en' | 'ja'
  readonly theme: 'light' | 'dark'
  readonly width: number
}

export const scenarios = {
  async show({ lang, theme, width }: Look): Promise<void> {
    document.documentElement.lang = lang
    document.documentElement.style.colorScheme = theme
    document.body.style.cssText = `font-family: sans-serif; background: ${theme === 'dark' ? '#0f1214' : '#f6f7f8'}; color: ${theme === 'dark' ? '#e6eaec' : '#1b2125'}`
    document.title = 'Documents'
    root.render(
      <>
        <h1>Documents</h1>
        {Object.entries(STATES).map(([name, [lock, draft]]) => (
          <Shown
            key={`${name} ${lang} ${theme} ${width}`}
            name={name}
            lock={lock}
            draft={draft}
            lang={lang}
          />
        ))}
      </>,
    )
  },

  async showConflict(): Promise<void> {
    root.render(<Conflict />)
  },
}

function Shown({ name, lock, draft: change, lang }: ShownProps) {
  const lockState: DocumentLockState = { ...INITIAL_STATE, me: ME, connected: true, ...lock }
  const state: DraftState<string> = {
    status: 'saved',
    content: THEIRS,
    stored: THEIRS,
    version: 1,
    isWritable: false,
    isUnsaved: false,
    savedAt: '2026-11-14T14:32:00.000Z',
    isOutdated: false,
    theirs: null,
    dropped: null,
    error: null,
    ...change,
  }
  return (
    <article aria-label={name}>
      <h2 style={{ fontSize: 13, margin: '20px 0 4px' }}>{name}</h2>
      <div className="holdfast hf-document">
        {/* A page has one of them. */}
        <LockBanner lock={{ ...LOCK, state: lockState }} draft={state} lang={lang} texts={{ label: name }} />
        <DraftNotice state={state} draft={{} as Draft<string>} isHeld={lockState.held} lang={lang} />
        <DraftStatusText state={state} lang={lang} />
      </div>
    </article>
  )
}

interface ShownProps {
  readonly name: string
  readonly lock: Partial<DocumentLockState>
  readonly draft: Partial<DraftState<string>> | undefined
  readonly lang: 'en' | 'ja'
}

const MY_MINUTES = `${MINE}\n\nEnd at 17:00`
const THEIR_MINUTES = `${THEIRS}\n\nEnd at 16:30`

/** A conflict that can be decided. */
function Conflict() {
  const [content, setContent] = useState(MY_MINUTES)
  const [isTaken, setTaken] = useState(false)
  const draft: Partial<Draft<string>> = {
    edit: (changed) => setContent(String(changed)),
    takeTheirs: () => setTaken(true),
  }
  const theirs = isTaken ? null : THEIR_MINUTES
  const state = { status: isTaken ? 'saved' : 'conflict', content, theirs, dropped: null }
  return (
    <>
      <DraftNotice state={state as DraftState<string>} draft={draft as Draft<string>} isHeld />
      <pre id="content">{isTaken ? THEIR_MINUTES : content}</pre>
    </>
  )
}

Object.assign(globalThis, { scenarios })
