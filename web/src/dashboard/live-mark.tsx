import { useEffect, useRef, useState } from 'react'
import { useFrames } from '../../../src/react/use-frames.ts'
import type { DashboardState, LiveLeases } from './live-leases.ts'
import { show, spanText } from './live-times.tsx'
import type { DashboardTexts } from './texts.ts'

/** The page asks every two seconds, so a server that says nothing for this long does not answer. */
const SILENT_MS = 4000
const LOOK_EVERY_MS = 250

/** Whether the server has said nothing for too long. A page that was hidden did not ask, so it waits first. */
export function useSilence(live: LiveLeases | null): boolean {
  const [isSilent, setSilent] = useState(false)
  useEffect(() => {
    if (!live) return
    let shownAt = Date.now()
    const look = () => setSilent(Date.now() - Math.max(live.heardAt, shownAt) > SILENT_MS)
    const onShown = () => {
      shownAt = Date.now()
      look()
    }
    const timer = setInterval(look, LOOK_EVERY_MS)
    document.addEventListener('visibilitychange', onShown)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', onShown)
    }
  }, [live])
  return isSilent
}

interface LiveMarkProps {
  readonly live: LiveLeases | null
  readonly phase: DashboardState['phase']
  readonly isSilent: boolean
  readonly words: DashboardTexts
}

/** How fresh the page is: `Live · 2 s ago`. Screen readers hear only changes of the words, not the seconds. */
export function LiveMark({ live, phase, isSilent, words }: LiveMarkProps) {
  const ago = useRef<HTMLSpanElement>(null)
  const isShown = phase === 'live' || phase === 'offline'
  useFrames(() => {
    const ms = live ? Math.max(0, Date.now() - live.heardAt) : 0
    show(ago.current, isShown ? ` · ${words.ago(spanText(ms, words))}` : '')
  })
  const text = {
    'signed-out': '',
    loading: words.loading,
    live: isSilent ? words.silent : words.liveNow,
    offline: words.offline,
  }[phase]
  return (
    <span className="notice" data-phase={phase === 'live' && isSilent ? 'silent' : phase}>
      <span role="status">{text}</span>
      <span className="ago" ref={ago} />
    </span>
  )
}
