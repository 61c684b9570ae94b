import { createContext, useContext, useRef } from 'react'
import { useFrames } from '../../../src/react/use-frames.ts'
import type { LiveLease } from './live-leases.ts'
import type { DashboardTexts } from './texts.ts'

/** When the server stopped answering. Nobody knows what happened to the leases since, so times stand still. */
export const StoppedAt = createContext<number | null>(null)

/** How long ago it was, counting. */
export function Age({ since, words }: { readonly since: number; readonly words: DashboardTexts }) {
  const element = useRef<HTMLSpanElement>(null)
  const stoppedAt = useContext(StoppedAt)
  useFrames(() => show(element.current, spanText(Math.max(0, (stoppedAt ?? Date.now()) - since), words)))
  return <span ref={element} />
}

/** How long the lease lives unless it is renewed, with a bar that shrinks. */
export function TimeLeft({
  lease: { endsAt, span: full },
  words,
}: {
  readonly lease: LiveLease
  readonly words: DashboardTexts
}) {
  const text = useRef<HTMLSpanElement>(null)
  const bar = useRef<HTMLSpanElement>(null)
  const stoppedAt = useContext(StoppedAt)
  useFrames(() => {
    const left = endsAt === null ? null : Math.max(0, endsAt - (stoppedAt ?? Date.now()))
    show(text.current, left === null ? words.noEnd : spanText(left, words))
    const share = left === null || !full ? 1 : Math.min(1, left / full)
    if (!bar.current) return
    bar.current.style.transform = `scaleX(${share})`
    bar.current.toggleAttribute('data-low', share < 1 / 3)
  })
  return (
    <span className="ttl">
      <span ref={text} />
      <span className="track">
        <span className="fill" ref={bar} />
      </span>
    </span>
  )
}

export function show(element: HTMLElement | null, text: string): void {
  if (element && element.textContent !== text) element.textContent = text
}

/** At most two numbers: `4 s`, `3 min 20 s`, `2 h 05 min`. */
export function spanText(ms: number, { units: [h, min, sec] }: DashboardTexts): string {
  const seconds = Math.floor(ms / 1000)
  if (seconds < 60) return `${seconds} ${sec}`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} ${min} ${pad(seconds % 60)} ${sec}`
  return `${Math.floor(minutes / 60)} ${h} ${pad(minutes % 60)} ${min}`
}

function pad(value: number): string {
  return String(value).padStart(2, '0')
}
