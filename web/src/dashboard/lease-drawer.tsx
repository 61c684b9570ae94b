import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Avatar } from '../../../src/react/avatar.tsx'
import { EventList } from './event-list.tsx'
import type { Crowd, LiveLease, LiveLeases } from './live-leases.ts'
import { Age, TimeLeft } from './live-times.tsx'
import { holderName, otherMetadata, personName, shareText, wishText } from './people.ts'
import type { DashboardTexts } from './texts.ts'
import { type DashboardEvent, withTrail } from './timeline.ts'
import { Token } from './token.tsx'

/** The table has all of them. */
const HOLDERS_SHOWN = 50
const EVENTS_SHOWN = 50

interface LeaseDrawerProps {
  readonly resource: string
  readonly live: LiveLeases
  readonly leases: readonly LiveLease[]
  readonly events: readonly DashboardEvent[]
  /** How many waited when it was last counted. */
  readonly waiting: number
  /** How many had the room open. */
  readonly viewing: number
  readonly words: DashboardTexts
  readonly onRelease: (lease: LiveLease) => void
  readonly onClose: () => void
}

/** Everything about one resource: its holders, what they say about themselves, its queue, and its history. */
export function LeaseDrawer(props: LeaseDrawerProps) {
  const { resource, live, leases, events, waiting, viewing, words, onRelease, onClose } = props
  const heading = useRef<HTMLHeadingElement>(null)
  const holders = leases
    .filter((lease) => lease.resource === resource)
    .sort((one, other) => one.token - other.token)
  const own = events.filter((event) => event.resource === resource && event.what !== 'renewed')
  const lastEvent = own[0]?.id
  const history = useLatest(() => live.history(resource), `${resource} ${lastEvent}`)
  const crowd = useLatest(() => live.crowdOf(resource), `${resource} ${lastEvent} ${waiting} ${viewing}`)
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
          <bdi>{resource}</bdi>
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
        <Waiters crowd={crowd} isShared={holders.some(({ share }) => share)} words={words} />
      </Part>
      {crowd && crowd.viewers.length > 0 && (
        <Part title={words.viewers}>
          <ul className="crowd">
            {crowd.viewers.map(({ session_id, name }) => (
              <li key={session_id}>
                <Avatar id={session_id} name={name} />
                <bdi>{name ?? words.somebody}</bdi>
              </li>
            ))}
          </ul>
        </Part>
      )}
      <Part title={words.events}>
        <EventList
          events={withTrail(own, history ?? []).slice(0, EVENTS_SHOWN)}
          words={words}
          empty={words.noEventsHere}
        />
        {!history && <p className="quiet">{words.noAudit}</p>}
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
  const person = personName(lease)
  return (
    <div className="holder">
      <p className="holder-name">
        {person !== null && <Avatar id={owner} name={person} activity={isKept ? 'viewing' : 'editing'} />}
        <bdi>{holderName(lease)}</bdi>
        {share && <span className="share quiet"> {share}</span>}
        {isKept && ' '}
        {isKept && <span className="kept">{words.kept}</span>}
      </p>
      {isKept && <p className="quiet">{words.keptExplained}</p>}
      <dl>
        <Field name={isKept ? words.lastOwner : words.owner} value={owner} />
        <Field name={words.token} value={<Token token={token} words={words} />} />
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
  readonly crowd: Crowd | undefined
  /** Of the holders, at least one shares. */
  readonly isShared: boolean
}

/** Where some share and others do not, each waiter has what it waits for beside its name. */
function Waiters({ crowd, isShared, words }: WaitersProps) {
  if (!crowd || crowd.waiting === null) return <p className="quiet">{words.noQueue}</p>
  const { waiting, queue } = crowd
  if (waiting === 0) return <p className="quiet">{words.nobodyWaits}</p>
  const differ = isShared || queue.some(({ share }) => share)
  return (
    <ol className="crowd queue">
      {queue.map((waiter, n) => (
        <li key={waiter.place}>
          {waiter.name !== undefined && (
            <Avatar id={waiter.owner} name={waiter.name} activity="waiting" number={n + 1} />
          )}
          {waiter.name === undefined && <span className="place mono quiet">{n + 1}</span>}
          <bdi>{waiter.name ?? waiter.owner}</bdi>
          {differ && <span className="share quiet"> {wishText(waiter, words)}</span>}
        </li>
      ))}
      {waiting > queue.length && <li className="quiet">{words.andMore(waiting - queue.length)}</li>}
    </ol>
  )
}

function Field({ name, value }: { readonly name: string; readonly value: ReactNode }) {
  return (
    <>
      <dt className="quiet">
        <bdi>{name}</bdi>
      </dt>
      <dd className="mono">
        <bdi>{value}</bdi>
      </dd>
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
