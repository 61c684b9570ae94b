import { memo } from 'react'
import { momentText } from '../../../src/react/moment-text.ts'
import type { DashboardTexts } from './texts.ts'
import type { DashboardEvent } from './timeline.ts'

interface EventListProps {
  readonly events: readonly DashboardEvent[]
  readonly words: DashboardTexts
  readonly empty: string
  /** Called with the resource of an event. Without it, the list is about one resource and shows no names of it. */
  readonly onSelect?: ((resource: string) => void) | undefined
}

export function EventList({ events, words, empty, onSelect }: EventListProps) {
  return (
    <ol className="event-list">
      {events.length === 0 && <li className="quiet empty">{empty}</li>}
      {events.map((event) => (
        <EventItem
          key={event.id}
          {...event}
          time={momentText(event.at, undefined, 'seconds')}
          words={words}
          onSelect={onSelect}
        />
      ))}
    </ol>
  )
}

interface EventItemProps extends DashboardEvent, Pick<EventListProps, 'words' | 'onSelect'> {
  readonly time: string
}

const EventItem = memo(function EventItem(props: EventItemProps) {
  const { at, time, what, resource, holder, by, words, onSelect } = props
  return (
    <li>
      <time className="mono quiet" dateTime={new Date(at).toISOString()}>
        {time}
      </time>
      <span className="what" data-what={what}>
        {words.what[what]}
      </span>
      <span className="about">
        {onSelect && (
          <button type="button" className="link" title={resource} onClick={() => onSelect(resource)}>
            <bdi>{resource}</bdi>
          </button>
        )}
        <span className={onSelect ? 'quiet' : undefined}>
          <bdi>{holder}</bdi>
          {by !== undefined && (
            <span className="quiet">
              {' · '}
              {words.byWhom(by)}
            </span>
          )}
        </span>
      </span>
    </li>
  )
})
