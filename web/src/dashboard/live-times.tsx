import { useRef } from 'react'
import { useFrames } from '../../../src/react/use-frames.ts'
import type { LiveLease } from './live-leases.ts'
import type { DashboardTexts } from './texts.ts'

/** How long ago it was, counting. */
export function Age({ since, words }: { readonly since: number; readonly words: DashboardTexts }) {
  const element = useRef<HTMLSpanElement>(null)
  useFrames(() => show(element.current, span(Math.max(0, Date.now() - since), words)))
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
  useFrames(() => {
    const left = endsAt === null ? null : Math.max(0, endsAt - Date.now())
    show(text.current, left === null ? words.noEnd : span(left, words))
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

function show(element: HTMLElement | null, text: string): void {
  if (element && element.textContent !== text) element.textContent = text
}

/** At most two numbers: `4 s`, `3 min 20 s`, `2 h 05 min`. */
function span(ms: number, { units: [h, min, sec] }: DashboardTexts): string {
  const seconds = Math.floor(ms / 1000)
  if (seconds < 60) return `${seconds} ${sec}`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} ${min} ${pad(seconds % 60)} ${sec}`
  return `${Math.floor(minutes / 60)} ${h} ${pad(minutes % 60)} ${min}`
}

function pad(value: number): string {
  return String(value).padStart(2, '0')
}
