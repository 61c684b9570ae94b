import './tour.css'
import { type MouseEvent, useEffect, useState } from 'react'
import type { DocumentLockState, DraftState } from '../../../src/client/index.ts'
import type { Lang } from '../ui/preferences.ts'
import { SERVICE_URL } from '../ui/service-url.ts'
import { setPlugged, usePlugged } from './plug.ts'
import { type TourTexts, tourTexts } from './tour-texts.ts'

const WINDOW = 'noopener,popup,width=680,height=860'

interface TourProps {
  readonly state: DocumentLockState
  readonly draft: DraftState<string>
  readonly lang: Lang
}

/** What has happened since this page was opened. */
interface Facts {
  readonly hasSecondWindow: boolean
  readonly wasHandedOver: boolean
  readonly wasRefused: boolean
}

/** Three steps that show a handoff, a loss and a refused save. Each is ticked when it has happened. */
export function Tour({ state, draft, lang }: TourProps) {
  const words = tourTexts[lang]
  const isPlugged = usePlugged()
  useEffect(() => () => setPlugged(true), [])
  const { hasSecondWindow, wasHandedOver, wasRefused } = useFacts(state, draft)
  const steps = [
    { ...words.open, isDone: hasSecondWindow, action: <OpenWindow words={words} /> },
    { ...words.edit, isDone: wasHandedOver, action: null },
    {
      ...words.plug,
      text: plugText(words, state, isPlugged, wasRefused),
      isDone: wasRefused && isPlugged,
      action: (
        <button
          type="button"
          disabled={isPlugged && !state.held}
          className={isPlugged ? undefined : 'primary'}
          onClick={() => setPlugged(!isPlugged)}
        >
          {isPlugged ? words.pull : words.plugIn}
        </button>
      ),
    },
  ]
  const next = steps.findIndex(({ isDone }) => !isDone)
  const current = next < 0 || !isPlugged ? steps.length - 1 : next
  return (
    <section className="tour card" aria-label={words.title}>
      <h2>{words.title}</h2>
      <ol>
        {steps.map(({ title, text, isDone, action }, n) => (
          <li key={title} data-done={isDone} aria-current={n === current ? 'step' : undefined}>
            <span className="number" aria-hidden="true">
              {isDone ? '✓' : n + 1}
            </span>
            <h3>
              {title}
              {isDone && <span className="visually-hidden"> {words.done}</span>}
            </h3>
            <div className="body">
              <p>{text}</p>
              {action}
            </div>
          </li>
        ))}
      </ol>
    </section>
  )
}

function plugText(
  words: TourTexts,
  { held }: DocumentLockState,
  isPlugged: boolean,
  wasRefused: boolean,
): string {
  if (!isPlugged) return held ? words.cutOff : words.lost
  if (wasRefused) return words.refused
  return held ? words.plug.text : words.inTheOther
}

function OpenWindow({ words }: { readonly words: TourTexts }) {
  const open = (event: MouseEvent) => {
    event.preventDefault()
    window.open(SERVICE_URL, '_blank', WINDOW)
  }
  return (
    <a className="button" href={SERVICE_URL} target="_blank" rel="noopener" onClick={open}>
      {words.openWindow}
    </a>
  )
}

function useFacts({ holder }: DocumentLockState, { isOutdated }: DraftState<string>): Facts {
  const hasSecondWindow = useSecondWindow()
  const [editors, setEditors] = useState<readonly string[]>([])
  const [wasRefused, setRefused] = useState(false)
  const editor = holder && `${holder.sessionId} ${holder.clientId}`
  if (editor && !editors.includes(editor)) setEditors([...editors, editor])
  if (isOutdated && !wasRefused) setRefused(true)
  return { hasSecondWindow, wasHandedOver: editors.length > 1, wasRefused }
}

/** Whether this page is open in another window of the browser, or was. */
function useSecondWindow(): boolean {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const channel = new BroadcastChannel('holdfast:tour')
    channel.onmessage = ({ data }) => {
      setOpen(true)
      if (data !== 'here') channel.postMessage('here')
    }
    channel.postMessage('hello')
    return () => channel.close()
  }, [])
  return isOpen
}
