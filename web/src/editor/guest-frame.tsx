import { useEffect, useRef } from 'react'
import { type Lang, usePreferences } from '../ui/preferences.ts'
import { Desk, type TextLanguage, useDocument } from './desk.tsx'
import { addressOfGuest } from './guest.ts'
import { TOUR_ROOM } from './rooms.ts'
import { tourTexts } from './tour-texts.ts'
import { useTourWindows } from './tour-windows.ts'

/** What the page and its frame tell each other. */
const LEAVE = 'holdfast:leave'
const LEFT = 'holdfast:left'
/** A frame that is cut off cannot save. Its text is kept in the browser. */
const LEAVE_WITHIN_MS = 2000

interface GuestFrameProps {
  readonly lang: Lang
  readonly isLeaving: boolean
  readonly onLeft: () => void
}

/** The second person of the split view: a page of its own, with its own session, network and lock. */
export function GuestFrame({ lang, isLeaving, onLeft }: GuestFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null)
  useEffect(() => {
    const { current } = frame
    if (!current) return
    // It is as high as its content, so that only the page scrolls.
    const resize = new ResizeObserver(([entry]) => {
      current.style.height = `${Math.ceil(entry?.borderBoxSize[0]?.blockSize ?? 0)}px`
    })
    const onLoad = () => {
      const body = current.contentDocument?.body
      if (body) resize.observe(body)
    }
    current.addEventListener('load', onLoad)
    return () => {
      current.removeEventListener('load', onLoad)
      resize.disconnect()
    }
  }, [])
  useEffect(() => {
    if (!isLeaving) return
    // Nothing asynchronous runs in a frame that was removed, so it saves and releases before.
    const stop = onMessage(LEFT, onLeft)
    const timer = setTimeout(onLeft, LEAVE_WITHIN_MS)
    frame.current?.contentWindow?.postMessage(LEAVE, location.origin)
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [isLeaving, onLeft])
  return (
    <iframe
      className="guest"
      ref={frame}
      src={addressOfGuest()}
      title={tourTexts[lang].guestFrame}
      inert={isLeaving}
    />
  )
}

/** What the frame shows. */
export function GuestPage(language: TextLanguage) {
  const [{ lang }] = usePreferences()
  const name = tourTexts[lang].guestName
  const open = useDocument(TOUR_ROOM, name, { lang, ...language })
  const { lock, state, draftState } = open
  useTourWindows(state.held, draftState.isOutdated)
  useEffect(
    () =>
      onMessage(LEAVE, () => {
        const left = () => parent.postMessage(LEFT, location.origin)
        // If it cannot release, the lock ends by itself.
        void Promise.resolve(lock?.release()).then(left, left)
      }),
    [lock],
  )
  return (
    <main className="editor" data-framed="true">
      <h1 className="visually-hidden">{tourTexts[lang].guestFrame}</h1>
      <Desk open={open} name={name} lang={lang} hasPlug={true} />
    </main>
  )
}

/** From the page around this one, or from its frame. */
function onMessage(text: string, listener: () => void): () => void {
  const onEvent = ({ data, origin }: MessageEvent) => {
    if (origin === location.origin && data === text) listener()
  }
  addEventListener('message', onEvent)
  return () => removeEventListener('message', onEvent)
}
