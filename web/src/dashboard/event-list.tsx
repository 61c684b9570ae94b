import { momentText } from '../../../src/react/moment-text.ts'
import type { DashboardEvent } from './live-leases.ts'
import type { DashboardTexts } from './texts.ts'

interface EventListProps {
  readonly events: readonly DashboardEvent[]
  readonly words: DashboardTexts
  readonly empty: string
  /** Called with the resource of an event. Without it, the list is about one resource and shows no names. */
  readonly onSelect?: (resource: string) => void
}

export function EventList({ events, words, empty, onSelect }: EventListProps) {
  return (
    <ol className="event-list">
      {events.length === 0 && <li className="quiet empty">{empty}</li>}
      {events.map(({ id, at, what, lease }) => (
        <li key={id}>
          <time className="mono quiet" dateTime={new Date(at).toISOString()}>
            {momentText(at, undefined, 'seconds')}
          </time>
          <span className="what" data-what={what}>
            {words.what[what]}
          </span>
          {onSelect ? (
            <button
              type="button"
              className="link"
              title={lease.resource}
              onClick={() => onSelect(lease.resource)}
            >
              {lease.resource}
            </button>
          ) : (
            <span className="mono quiet">{lease.token}</span>
          )}
        </li>
      ))}
    </ol>
  )
}
