import { useDeferredValue, useMemo, useRef, useState } from 'react'
import { useFrames } from '../../../src/react/use-frames.ts'
import type { LiveLease } from './live-leases.ts'
import type { DashboardTexts } from './texts.ts'
import { useVirtualRows } from './virtual-rows.ts'

interface LeaseTableProps {
  readonly leases: readonly LiveLease[]
  readonly isLoading: boolean
  readonly words: DashboardTexts
  readonly onRelease: (lease: LiveLease) => void
}

export function LeaseTable({ leases, isLoading, words, onRelease }: LeaseTableProps) {
  const [filter, setFilter] = useState('')
  const wanted = useDeferredValue(filter.trim().toLowerCase())
  const shown = useMemo(() => {
    const found = wanted ? leases.filter((lease) => textOf(lease).includes(wanted)) : leases
    return found.toSorted((a, b) => (a.resource < b.resource ? -1 : 1))
  }, [leases, wanted])
  const { viewport, above, below, first, last, onScroll } = useVirtualRows(shown.length)
  return (
    <section className="card leases">
      <div className="bar">
        <h2 className="grow">
          {words.leases} <span className="mono">{shown.length.toLocaleString()}</span>
        </h2>
        <input
          type="search"
          aria-label={words.filter}
          placeholder={words.filter}
          value={filter}
          onChange={({ target }) => setFilter(target.value)}
        />
      </div>
      {shown.length === 0 ? (
        <EmptyLeases isFiltered={leases.length > 0} isLoading={isLoading} words={words} />
      ) : (
        <table aria-rowcount={shown.length + 1}>
          <thead>
            <tr className="row head" aria-rowindex={1}>
              {[words.resource, words.holder, words.token, words.age, words.left, words.action].map(
                (title) => (
                  <th key={title}>{title}</th>
                ),
              )}
            </tr>
          </thead>
          <tbody className="rows" ref={viewport} onScroll={onScroll}>
            <Filler height={above} />
            {shown.slice(first, last).map((lease, at) => (
              <LeaseRow
                key={lease.resource}
                lease={lease}
                index={first + at + 2}
                words={words}
                onRelease={onRelease}
              />
            ))}
            <Filler height={below} />
          </tbody>
        </table>
      )}
    </section>
  )
}

interface LeaseRowProps extends Omit<LeaseTableProps, 'leases' | 'isLoading'> {
  readonly lease: LiveLease
  readonly index: number
}

function LeaseRow({ lease, index, words, onRelease }: LeaseRowProps) {
  const { resource, owner, token, metadata, since } = lease
  const { name } = Object(metadata)
  return (
    <tr className="row" aria-rowindex={index}>
      <td className="name" title={resource}>
        {resource}
      </td>
      <td className="name" title={owner}>
        {typeof name === 'string' ? name : owner}
      </td>
      <td className="mono quiet">{token}</td>
      <td className="mono" data-title={words.age}>
        <Age since={since} words={words} />
      </td>
      <td className="mono">
        <TimeLeft lease={lease} words={words} />
      </td>
      <td>
        <button type="button" className="danger" onClick={() => onRelease(lease)}>
          {words.release}
          <span className="visually-hidden"> {resource}</span>
        </button>
      </td>
    </tr>
  )
}

/** Takes the place of the rows that are not drawn. */
function Filler({ height }: { readonly height: number }) {
  return <tr className="filler" ref={(element) => element?.style.setProperty('height', `${height}px`)} />
}

function Age({ since, words }: { readonly since: number; readonly words: DashboardTexts }) {
  const element = useRef<HTMLSpanElement>(null)
  useFrames(() => show(element.current, span(Math.max(0, Date.now() - since), words)))
  return <span ref={element} />
}

function TimeLeft({ lease: { endsAt, span: full }, words }: Pick<LeaseRowProps, 'lease' | 'words'>) {
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

interface EmptyLeasesProps extends Pick<LeaseTableProps, 'isLoading' | 'words'> {
  readonly isFiltered: boolean
}

function EmptyLeases({ isFiltered, isLoading, words }: EmptyLeasesProps) {
  if (isLoading) return <p className="quiet empty">{words.loading}</p>
  if (isFiltered) return <p className="quiet empty">{words.noMatch}</p>
  return (
    <div className="empty">
      <p className="quiet">{words.none}</p>
      <pre className="mono">
        {`curl -X POST ${location.origin}/api/documents/first/lock \\
  -H 'content-type: application/json' \\
  -d '{"name": "Mika"}'`}
      </pre>
    </div>
  )
}

function textOf({ resource, owner, metadata }: LiveLease): string {
  return `${resource} ${owner} ${metadata ? JSON.stringify(metadata) : ''}`.toLowerCase()
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
