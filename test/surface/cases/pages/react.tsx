import assert from 'node:assert/strict'
import { systemClock } from 'holdfast'
import { localStorageJournal } from 'holdfast/autosave'
import { INITIAL_STATE, textCodec } from 'holdfast/client'
import { createProjectLocks } from 'holdfast/project'
import {
  AutoSaveIndicator,
  Avatar,
  autosaveTexts,
  DocumentLock,
  DraftNotice,
  DraftStatusText,
  draftTexts,
  HoldfastProvider,
  LockBanner,
  lockTexts,
  People,
  SyncProvider,
  TextComparison,
  useAutoSave,
  useDocumentLock,
  useDraft,
  useEntities,
  useEntity,
  useEntityIds,
  useProjectLock,
  useSavedContent,
  useSync,
  useSyncSettings,
  useSyncStatus,
} from 'holdfast/react'
import 'holdfast/react/styles.css'
import { createSync, memoryStorage } from 'holdfast/sync'
import { useState } from 'react'
import { unique } from '../backend.ts'
import { press, render, shown } from './render.ts'
import type { Item } from './sync.ts'

/** The hooks and components, as docs/client.md, docs/autosave.md, docs/project-lock.md and docs/sync.md use them. */
export async function reactCase(): Promise<void> {
  await showsDocument()
  await draftsDocument()
  await showsWholeDocument()
  await showsParts()
  await savesNotes()
  await holdsProject()
  await showsEntities()
}

const ROOM = `${unique}-react`

function Reader() {
  const { lock } = useDocumentLock(ROOM)
  const { content } = useSavedContent(lock, { codec: textCodec })
  const { isLoaded } = useSavedContent<string>(ROOM)
  return (
    <>
      <LockBanner lock={lock} onHandOver={() => {}} />
      <output>{isLoaded && content}</output>
    </>
  )
}

function Editor() {
  const { state: lockState, lock } = useDocumentLock(`${ROOM}-draft`)
  const { state, draft } = useDraft(lock, {
    ...{ codec: textCodec, saveAfter: '10ms', saveWithin: '1s', keep: true, clock: systemClock },
  })
  const write = async () => {
    await lock?.acquire()
    draft?.edit('A draft')
  }
  return (
    <>
      <LockBanner state={lockState} lock={lock} draft={state} />
      <button type="button" onClick={() => void write()}>
        Draft
      </button>
      <output>{`${state.content}, ${state.status}`}</output>
    </>
  )
}

function Writer() {
  const { state, lock } = useDocumentLock(ROOM, {
    ...{ url: location.origin, name: 'Mika', headers: { 'x-trace': 'surface' } },
    ...{ idleAfter: '5m', presence: true },
  })
  const texts = { edit: 'Write', stop: 'Hand it back' }
  const save = () => lock?.save('A line')
  return (
    <>
      <LockBanner
        state={state}
        lock={lock}
        lang="ja"
        texts={texts}
        attention={{ icon: './icon.svg', notification: true }}
        onHandoff={save}
      />
      <output>{lock && 'The writer is ready'}</output>
    </>
  )
}

async function showsDocument(): Promise<void> {
  const reader = render(
    <HoldfastProvider url={location.origin} name="Ken" headers={{ 'x-trace': 'surface' }} lang="en">
      <Reader />
    </HoldfastProvider>,
  )
  await shown(lockTexts.en.nobody)
  const writer = render(<Writer />)
  await shown('The writer is ready')
  await press('Write')
  await shown(lockTexts.ja.editing(0))
  await press('Hand it back')
  await shown('A line')
  writer.unmount()
  reader.unmount()
}

async function draftsDocument(): Promise<void> {
  const editor = render(<Editor />)
  await shown(', saved')
  await press('Draft')
  await shown('A draft, saved')
  editor.unmount()
}

const theirs = 'one\ntwo'

function Whole() {
  const [text, setText] = useState('one')
  return (
    <>
      <DocumentLock
        attention={{ notification: false }}
        idleAfter="5m"
        presence={false}
        roomId={`${ROOM}-whole`}
        url={location.origin}
        name="Mika"
        headers={{ 'x-trace': 'surface' }}
        lang="ja"
        lockTexts={{ edit: 'Write the whole' }}
        draftTexts={{ nothingSaved: 'Nothing yet' }}
        draft={{ codec: textCodec, saveAfter: '10ms' }}
        toText={(content) => content}
        compare={({ mine }) => mine}
      >
        {({ content, edit, isWritable, draftState, lockState }) => (
          <>
            <button type="button" onClick={() => isWritable && edit('All of it')}>
              Type the whole
            </button>
            <output>{`${content} ${draftState.status} ${lockState.held ? 'held' : 'free'}`}</output>
          </>
        )}
      </DocumentLock>
      <People people={INITIAL_STATE.people} lang="ja" texts={{ people: 'All' }} />
      <Avatar id="session" name="Mika" activity="waiting" number={1} />
      <TextComparison
        theirs={theirs}
        mine={text}
        lang="en"
        texts={{ takeChange: 'Take it' }}
        onEdit={setText}
      />
      <output>{text === theirs && 'taken'}</output>
    </>
  )
}

/** The notice and the status alone, as if others had saved the same words. */
function Parts() {
  const { state, draft, lock } = useDraft(`${ROOM}-parts`)
  const lockState = useDocumentLock(`${ROOM}-parts`).state
  const conflict = { ...state, status: 'conflict', isOutdated: true, theirs: 'theirs' } as const
  const { status, savedAt } = state
  return (
    <>
      <button type="button" onClick={() => lock?.acquire()}>
        Hold the parts
      </button>
      <DraftNotice state={state} draft={draft} lock={lock} />
      <DraftNotice
        {...{
          state: conflict,
          draft,
          isHeld: lockState.held,
          lang: 'ja',
          texts: { compare: 'Look at both' },
        }}
        toText={(content) => `${content}!`}
        compare={({ theirs, mine, onEdit }) => (
          <>
            <button type="button" onClick={() => onEdit?.(`${mine} and ${theirs}`)}>
              Merge
            </button>
            <button type="button" onClick={() => onEdit?.('only mine')}>
              Keep
            </button>
          </>
        )}
      />
      <DraftStatusText state={{ status, savedAt }} />
      <DraftStatusText state={state} lang="ja" texts={{ savedAt: (time) => `Safe since ${time}` }} />
      <output>{lock && `parts(${state.content}) ${state.isWritable}`}</output>
    </>
  )
}

async function showsParts(): Promise<void> {
  const parts = render(<Parts />)
  await shown('parts() false')
  await press('Hold the parts')
  await shown('parts() true')
  await press('Look at both')
  await press('Merge')
  await shown('parts(! and theirs!) true')
  await press('Keep')
  await shown('parts(only mine) true')
  await shown('Safe since')
  parts.unmount()
}

async function showsWholeDocument(): Promise<void> {
  const whole = render(<Whole />)
  await shown('Nothing yet')
  await press('Write the whole')
  await shown(' saved held')
  await press('Type the whole')
  await shown('All of it saved held')
  await press('Take it')
  await shown('taken')
  assert.equal(draftTexts.ja.status.saved, '保存済み')
  whole.unmount()
}

const projectLocks = createProjectLocks({ namespace: `${unique}:react` })

function Notes({ channel }: { channel: BroadcastChannel }) {
  const [text, setText] = useState('')
  const { state, autosave } = useAutoSave(text, {
    ...{ locks: projectLocks, directory, channel, journal: localStorageJournal(ROOM), clock: systemClock },
    ...{ debounce: '10ms', idle: '1s', generations: 5, maxBytes: 1_000_000, hold: 'session', eager: true },
    ...{ wait: '10s', retry: { maxAttempts: 2 }, onEvent: () => {}, onRestore: setText },
  })
  const texts = { retry: 'Again', takeover: 'Here' }
  return (
    <>
      <AutoSaveIndicator autosave={autosave} />
      <AutoSaveIndicator autosave={autosave} lang="ja" texts={texts} />
      <button type="button" onClick={() => setText('Buy milk')}>
        Type
      </button>
      <output>{`${text}, ${state.savedAt === null || state.unsaved ? 'unsaved' : 'saved'}`}</output>
    </>
  )
}

function NamedNotes() {
  const { state } = useAutoSave('Buy bread', { namespace: `${unique}:notes`, eager: true })
  return <output>{state.backend && 'The notes are writable'}</output>
}

async function directory(): Promise<FileSystemDirectoryHandle> {
  const root = await navigator.storage.getDirectory()
  return root.getDirectoryHandle(ROOM, { create: true })
}

async function savesNotes(): Promise<void> {
  const first = render(<Notes channel={new BroadcastChannel(ROOM)} />)
  await press('Type')
  await shown('Buy milk, saved')
  await shown(autosaveTexts.en.saved.label('').trim())
  first.unmount()
  const second = render(<Notes channel={new BroadcastChannel(ROOM)} />)
  await shown('Buy milk, saved')
  second.unmount()
  const named = render(<NamedNotes />)
  await shown('The notes are writable')
  named.unmount()
}

const { signal } = new AbortController()

function Project() {
  const plain = useProjectLock(projectLocks)
  const named = useProjectLock({ namespace: `${unique}:named`, scope: 'history' })
  const { status, acquire, release } = useProjectLock(projectLocks, { scope: 'history' })
  return (
    <>
      <button type="button" onClick={() => plain.acquire({ signal, retry: { maxAttempts: 2 }, steal: true })}>
        Save
      </button>
      <button type="button" onClick={() => plain.acquire({ standby: true })}>
        Queue
      </button>
      <button type="button" onClick={() => plain.release()}>
        Leave
      </button>
      <button type="button" onClick={() => acquire()}>
        Keep
      </button>
      <button type="button" onClick={() => release()}>
        End
      </button>
      <button type="button" onClick={() => named.acquire()}>
        Keep by name
      </button>
      <output>{`autosave ${plain.status}, history ${status}, named ${named.status}`}</output>
    </>
  )
}

async function holdsProject(): Promise<void> {
  const project = render(<Project />)
  await press('Save')
  await shown('autosave held')
  await press('Leave')
  await shown('autosave free')
  await press('Queue')
  await shown('autosave held')
  await press('Keep')
  await shown('history held')
  await press('End')
  await shown('history free')
  await press('Keep by name')
  await shown('named held')
  project.unmount()
  await projectLocks.close()
}

function Row({ id }: { id: string }) {
  const sync = useSync<Item>()
  const item = useEntity<Item>(id)
  return (
    <button type="button" onClick={() => sync.patchEntity(id, { checked: true })}>
      {`${item?.label}${item?.checked ? ' is checked' : ''}`}
    </button>
  )
}

function List() {
  const { themeToken } = useSyncSettings()
  return (
    <>
      {useEntityIds().map((id) => (
        <Row key={id} id={id} />
      ))}
      <output>{`${useEntities<Item>().length} ${useSyncStatus()} ${themeToken}`}</output>
    </>
  )
}

async function showsEntities(): Promise<void> {
  await using sync = createSync<Item>({ storage: memoryStorage() })
  const list = render(
    <SyncProvider sync={sync}>
      <List />
    </SyncProvider>,
  )
  await sync.setEntity('milk', { label: 'Milk', checked: false })
  await shown('1 ready #6441a5')
  await press('Milk')
  await shown('Milk is checked')
  list.unmount()
  assert.equal(sync.get('milk')?.checked, true)
}
