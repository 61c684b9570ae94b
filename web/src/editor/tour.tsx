import './tour.css'
import { type MouseEvent, type ReactNode, useState } from 'react'
import type { DocumentLockState } from '../../../src/client/index.ts'
import type { Lang } from '../ui/preferences.ts'
import { SERVICE_URL } from '../ui/service-url.ts'
import { type TourTexts, tourTexts } from './tour-texts.ts'
import type { TourWindow } from './tour-windows.ts'

const WINDOW = 'noopener,popup,width=680,height=860'
const KEY = 'holdfast:tour'
const FOLDED = 'folded'

interface TourProps {
  readonly state: DocumentLockState
  /** This one, and the others. */
  readonly windows: readonly TourWindow[]
  readonly isSplit: boolean
  readonly onSplit: (isSplit: boolean) => void
  readonly lang: Lang
}

/** Three steps that show a handoff, a loss and a refused save. Each is ticked when it has happened. */
export function Tour({ state, windows, isSplit, onSplit, lang }: TourProps) {
  const words = tourTexts[lang]
  const [isOpen, setOpen] = useState(() => !isFolded())
  const hasSecond = useOnce(windows.length > 1)
  const wasHandedOver = useHandedOver(state)
  const isWhole = windows.every(({ isPlugged }) => isPlugged)
  const isRefused = windows.some((one) => one.isRefused)
  const wasMerged = !isRefused && windows.some((one) => one.wasRefused)
  const steps = [
    {
      id: 'open',
      text: words.open,
      isDone: hasSecond,
      action: (
        <>
          <button
            type="button"
            className={isSplit || hasSecond ? undefined : 'primary'}
            onClick={() => onSplit(!isSplit)}
          >
            {isSplit ? words.showOne : words.showTwo}
          </button>
          {!isSplit && <OpenWindow words={words} />}
        </>
      ),
    },
    { id: 'edit', text: words.edit(isSplit || !hasSecond), isDone: wasHandedOver, action: null },
    {
      id: 'plug',
      text: isWhole && wasMerged ? words.merged : plugText(words, windows, isSplit),
      isDone: isWhole && wasMerged,
      action: null,
    },
  ]
  const next = steps.findIndex(({ isDone }) => !isDone)
  const current = next < 0 || !isWhole ? steps.length - 1 : next
  return (
    <details
      className="tour card"
      open={isOpen}
      onToggle={({ currentTarget: { open } }) => {
        setOpen(open)
        rememberFolded(!open)
      }}
    >
      <summary>
        <h2>{words.title}</h2>
      </summary>
      <ol>
        {steps.map(({ id, text, isDone, action }, n) => (
          <Step
            key={id}
            number={n + 1}
            isDone={isDone}
            isCurrent={n === current}
            words={words}
            action={action}
          >
            {text}
          </Step>
        ))}
      </ol>
    </details>
  )
}

interface StepProps {
  readonly number: number
  readonly isDone: boolean
  readonly isCurrent: boolean
  readonly words: TourTexts
  readonly action: ReactNode
  readonly children: string
}

function Step({ number, isDone, isCurrent, words, action, children }: StepProps) {
  return (
    <li data-done={isDone} aria-current={isCurrent ? 'step' : undefined}>
      <span className="number" aria-hidden="true">
        {isDone ? '✓' : number}
      </span>
      <p>
        {children}
        {isDone && <span className="visually-hidden"> {words.done}</span>}
      </p>
      {action && <span className="actions">{action}</span>}
    </li>
  )
}

function plugText(words: TourTexts, windows: readonly TourWindow[], isSplit: boolean): string {
  const isCut = windows.some(({ isPlugged }) => !isPlugged)
  const isRefused = windows.some((one) => one.isRefused)
  if (!isCut) return isRefused ? words.refused(isSplit) : words.plug
  const isTaken = windows.some(({ isPlugged, isHeld }) => isPlugged && isHeld)
  return isTaken ? words.taken : words.cutOff(isSplit)
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

/** Whether somebody else has edited since this page was opened, after the first one. */
function useHandedOver({ holder }: DocumentLockState): boolean {
  const [editors, setEditors] = useState<readonly string[]>([])
  const editor = holder && `${holder.sessionId} ${holder.clientId}`
  if (editor && !editors.includes(editor)) setEditors([...editors, editor])
  return editors.length > 1
}

/** Whether it is true, or was. */
function useOnce(now: boolean): boolean {
  const [was, setWas] = useState(now)
  if (now && !was) setWas(true)
  return was
}

function isFolded(): boolean {
  try {
    return localStorage.getItem(KEY) === FOLDED
  } catch {
    return false
  }
}

function rememberFolded(isFolded: boolean): void {
  try {
    if (isFolded) localStorage.setItem(KEY, FOLDED)
    else localStorage.removeItem(KEY)
  } catch {
    // Private windows may refuse storage. Then the steps are open the next time.
  }
}
