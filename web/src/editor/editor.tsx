import { useEffect, useState } from 'react'
import { isolatedName } from '../../../src/react/isolated-name.ts'
import { PageHeader } from '../ui/page-header.tsx'
import { usePreferences } from '../ui/preferences.ts'
import { Desk, type TextLanguage, useDocument } from './desk.tsx'
import { DocumentList } from './document-list.tsx'
import { GuestFrame } from './guest-frame.tsx'
import { NotifyToggle } from './notify-toggle.tsx'
import { TOUR_ROOM, useRoom } from './rooms.ts'
import { editorTexts } from './texts.ts'
import { Tour } from './tour.tsx'
import { useTourWindows } from './tour-windows.ts'

const ASKING_ICON = './icon-asking.svg'

/** `leaving`: the second person saves, and gives the document up. */
type Split = 'one' | 'two' | 'leaving'

/** Without a document in its address, the page shows the three steps. */
export function Editor({ textLang, onTextLang }: TextLanguage) {
  const room = useRoom()
  const [{ lang }] = usePreferences()
  const [split, setSplit] = useState<Split>('one')
  const isTwo = room === null && split !== 'one'
  return (
    <>
      <PageHeader current="editor">
        <OwnName />
        <NotifyToggle />
      </PageHeader>
      <main className="editor" data-split={isTwo}>
        <OwnSide
          key={`${room} ${textLang}`}
          room={room}
          isSplit={split === 'two'}
          onSplit={(isSplit) => setSplit(isSplit ? 'two' : 'leaving')}
          textLang={textLang}
          onTextLang={onTextLang}
        />
        {isTwo && <GuestFrame lang={lang} isLeaving={split === 'leaving'} onLeft={() => setSplit('one')} />}
      </main>
    </>
  )
}

function OwnName() {
  const [{ lang, name }, change] = usePreferences()
  return (
    <label className="bar">
      <span className="quiet">{editorTexts[lang].name}</span>
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
  )
}

interface OwnSideProps extends TextLanguage {
  /** `null`: the start page. */
  readonly room: string | null
  readonly isSplit: boolean
  readonly onSplit: (isSplit: boolean) => void
}

function OwnSide({ room, isSplit, onSplit, ...language }: OwnSideProps) {
  const [{ lang, name, notify }] = usePreferences()
  const roomId = room ?? TOUR_ROOM
  const hasTour = room === null
  const open = useDocument(roomId, name, { lang, ...language })
  const { state, draftState } = open
  const windows = useTourWindows(state.held, draftState.isOutdated)
  const words = editorTexts[lang]
  useEffect(() => {
    document.title = `${isolatedName(roomId)} · Holdfast`
  }, [roomId])
  return (
    <>
      {hasTour && <Tour state={state} windows={windows} isSplit={isSplit} onSplit={onSplit} lang={lang} />}
      <DocumentList roomId={roomId} state={state} words={words} />
      <Desk
        open={open}
        name={name}
        lang={lang}
        hasPlug={hasTour && windows.length > 1}
        attention={{ icon: ASKING_ICON, notification: notify }}
      />
    </>
  )
}
