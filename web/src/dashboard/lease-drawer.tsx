import { type ReactNode, useEffect, useRef, useState } from 'react'
import { timeOf } from './audit-trail.tsx'
import { EventList } from './event-list.tsx'
import type { DashboardEvent, LiveLease, LiveLeases, Queue } from './live-leases.ts'
import { Age, TimeLeft } from './live-times.tsx'
import { holderName, otherMetadata, shareText, wishText } from './people.ts'
import type { DashboardTexts } from './texts.ts'

/** The table has all of them. */
const HOLDERS_SHOWN = 50

interface LeaseDrawerProps {
  readonly resource: string
  readonly live: LiveLeases
  readonly leases: readonly LiveLease[]
  readonly events: readonly DashboardEvent[]
  /** How many waited when it was last counted. */
  readonly waiting: number
  readonly words: DashboardTexts
  readonly onRelease: (lease: LiveLease) => void
  readonly onClose: () => void
}

/** Everything about one resource: its holders, what they say about themselves, its queue, and its history. */
export function LeaseDrawer(props: LeaseDrawerProps) {
  const { resource, live, leases, events, waiting, words, onRelease, onClose } = props
  const heading = useRef<HTMLHeadingElement>(null)
  const holders = leases
    .filter((lease) => lease.resource === resource)
    .sort((one, other) => one.token - other.token)
  const own = events.filter(({ lease, what }) => lease.resource === resource && what !== 'renewed')
  const lastEvent = own[0]?.id
  const history = useLatest(() => live.history(resource), `${resource} ${lastEvent}`)
  const queue = useLatest(() => live.queueOf(resource), `${resource} ${lastEvent} ${waiting}`)
  useFocusReturn(resource)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another resource is another page for a reader.
  useEffect(() => heading.current?.focus(), [resource])
  return (
    <aside
      className="card drawer"
      aria-label={words.details}
      onKeyDown={({ key }) => key === 'Escape' && onClose()}
    >
      <div className="bar drawer-head">
        <h2 ref={heading} tabIndex={-1} className="full-name mono grow">
          {resource}
        </h2>
        <button type="button" aria-label={words.close} onClick={onClose}>
          ×
        </button>
      </div>
      {holders.length === 0 && <p className="quiet">{words.nobodyHolds}</p>}
      {holders.length > 0 && (
        <Part title={titleOf(holders, words)}>
          {holders.slice(0, HOLDERS_SHOWN).map((lease) => (
            <Holder
              key={lease.token}
              lease={lease}
              holders={holders.length}
              words={words}
              onRelease={onRelease}
            />
          ))}
          {holders.length > HOLDERS_SHOWN && (
            <p className="quiet">{words.andMore(holders.length - HOLDERS_SHOWN)}</p>
          )}
        </Part>
      )}
      <Part title={words.waiters}>
        <Waiters queue={queue} isShared={holders.some(({ share }) => share)} words={words} />
      </Part>
      <Part title={words.events}>
        <EventList events={own.slice(0, 50)} words={words} empty={words.noEventsHere} />
      </Part>
      <Part title={words.audit}>
        {!history ? (
          <p className="quiet">{words.noAudit}</p>
        ) : (
          <ol className="event-list">
            {history.length === 0 && <li className="quiet empty">{words.noEvents}</li>}
            {history.map((entry) => (
              <li key={`${entry.at} ${entry.action} ${entry.token}`} className="audit-line">
                <time className="mono quiet" dateTime={entry.at}>
                  {timeOf(entry.at)}
                </time>
                <span>
                  {words.actions[entry.action]} · {entry.owner_name ?? entry.owner}
                  {entry.by && <span className="quiet"> · {words.byWhom(entry.by)}</span>}
                </span>
              </li>
            ))}
          </ol>
        )}
      </Part>
    </aside>
  )
}

/** Nobody holds a resource that is only kept. */
function titleOf(leases: readonly LiveLease[], words: DashboardTexts): string {
  if (leases.every(({ state }) => state === 'kept')) return words.lastOwner
  return leases.length > 1 ? words.holders : words.holder
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="part">
      <h3>{title}</h3>
      {children}
    </section>
  )
}

interface HolderProps extends Pick<LeaseDrawerProps, 'words' | 'onRelease'> {
  readonly lease: LiveLease
  /** Of the resource. */
  readonly holders: number
}

function Holder({ lease, holders, words, onRelease }: HolderProps) {
  const { owner, token, since } = lease
  const share = shareText(lease, holders, words)
  const isKept = lease.state === 'kept'
  return (
    <div className="holder">
      <p className="holder-name">
        {holderName(lease)}
        {share && <span className="share quiet"> {share}</span>}
        {isKept && ' '}
        {isKept && <span className="kept">{words.kept}</span>}
      </p>
      {isKept && <p className="quiet">{words.keptExplained}</p>}
      <dl>
        <Field name={isKept ? words.lastOwner : words.owner} value={owner} />
        <Field name={words.token} value={token} />
        <Field name={words.age} value={<Age since={since} words={words} />} />
        <Field name={words.left} value={<TimeLeft lease={lease} words={words} />} />
        {otherMetadata(lease).map(([key, value]) => (
          <Field key={key} name={key} value={value} />
        ))}
      </dl>
      <button type="button" className="danger" onClick={() => onRelease(lease)}>
        {isKept ? words.releaseKept : words.release}
      </button>
    </div>
  )
}

interface WaitersProps extends Pick<LeaseDrawerProps, 'words'> {
  readonly queue: Queue | undefined
  /** Of the holders, at least one shares. */
  readonly isShared: boolean
}

/** Where some share and others do not, each waiter has what it waits for beside its name. */
function Waiters({ queue, isShared, words }: WaitersProps) {
  if (!queue || queue.count === null) return <p className="quiet">{words.noQueue}</p>
  const { count, first } = queue
  if (count === 0) return <p className="quiet">{words.nobodyWaits}</p>
  const differ = isShared || first.some(({ share }) => share)
  return (
    <ol className="queue">
      {first.map((waiter) => (
        <li key={waiter.place} className="mono">
          {waiter.owner}
          {differ && <span className="share quiet"> {wishText(waiter, words)}</span>}
        </li>
      ))}
      {count > first.length && <li className="quiet">{words.andMore(count - first.length)}</li>}
    </ol>
  )
}

function Field({ name, value }: { readonly name: string; readonly value: ReactNode }) {
  return (
    <>
      <dt className="quiet">{name}</dt>
      <dd className="mono">{value}</dd>
    </>
  )
}

/** Afterwards the focus goes back to the lease that had it, or else to another of the resource. Rows are drawn anew. */
function useFocusReturn(resource: string): void {
  useEffect(() => {
    const { lease = '' } = (document.activeElement as HTMLElement | null)?.dataset ?? {}
    const find = (name: string, value: string) =>
      document.querySelector<HTMLElement>(`[data-${name}="${CSS.escape(value)}"]`)
    return () => (find('lease', lease) ?? find('resource', resource))?.focus()
  }, [resource])
}

/** What `read` found last, read again when `reason` changes. `undefined`: nothing yet, or the server refused. */
function useLatest<T>(read: () => Promise<T>, reason: string): T | undefined {
  const [found, setFound] = useState<T>()
  const latest = useRef(read)
  latest.current = read
  // biome-ignore lint/correctness/useExhaustiveDependencies: `reason` says when there is more to read.
  useEffect(() => {
    let isWanted = true
    latest.current().then(
      (value) => isWanted && setFound(() => value),
      () => isWanted && setFound(undefined),
    )
    return () => {
      isWanted = false
    }
  }, [reason])
  return found
}
