import { type ReactNode, useEffect, useRef, useState } from 'react'
import { timeOf } from './audit-trail.tsx'
import { EventList } from './event-list.tsx'
import type { DashboardEvent, LiveLease, LiveLeases } from './live-leases.ts'
import { Age, TimeLeft } from './live-times.tsx'
import { holderName, otherMetadata } from './people.ts'
import type { DashboardTexts } from './texts.ts'

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
  const holders = leases.filter((lease) => lease.resource === resource)
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
      {holders.map((lease) => (
        <Holder key={lease.token} lease={lease} words={words} onRelease={onRelease} />
      ))}
      <Part title={words.waiters}>
        {!queue || queue.count === null ? (
          <p className="quiet">{words.noQueue}</p>
        ) : queue.count === 0 ? (
          <p className="quiet">{words.nobodyWaits}</p>
        ) : (
          <ol className="queue">
            {queue.first.map(({ owner, place }) => (
              <li key={place} className="mono">
                {owner}
              </li>
            ))}
            {queue.count > queue.first.length && (
              <li className="quiet">{words.andMore(queue.count - queue.first.length)}</li>
            )}
          </ol>
        )}
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
}

function Holder({ lease, words, onRelease }: HolderProps) {
  const { owner, token, since } = lease
  return (
    <section className="part">
      <h3>{words.holder}</h3>
      <p className="holder-name">{holderName(lease)}</p>
      <dl>
        <Field name={words.owner} value={owner} />
        <Field name={words.token} value={token} />
        <Field name={words.age} value={<Age since={since} words={words} />} />
        <Field name={words.left} value={<TimeLeft lease={lease} words={words} />} />
        {otherMetadata(lease).map(([key, value]) => (
          <Field key={key} name={key} value={value} />
        ))}
      </dl>
      <button type="button" className="danger" onClick={() => onRelease(lease)}>
        {words.release}
      </button>
    </section>
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

/** Afterwards the focus goes back to the row of the resource. It may have been drawn anew, or the list may be long. */
function useFocusReturn(resource: string): void {
  useEffect(
    () => () => {
      document.querySelector<HTMLElement>(`[data-resource="${CSS.escape(resource)}"]`)?.focus()
    },
    [resource],
  )
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
