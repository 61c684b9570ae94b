import { useState } from 'react'
import { EventList } from './event-list.tsx'
import type { DashboardTexts } from './texts.ts'
import type { DashboardEvent } from './timeline.ts'

const SHOWN = 100

interface EventStreamProps {
  readonly events: readonly DashboardEvent[]
  readonly words: DashboardTexts
  readonly onSelect: (resource: string) => void
}

/** What happens to the leases, the latest on top. */
export function EventStream({ events, words, onSelect }: EventStreamProps) {
  const [filter, setFilter] = useState('')
  const [withRenewals, setWithRenewals] = useState(false)
  const wanted = filter.trim().toLowerCase()
  const shown = events
    .filter(
      ({ what, resource }) => (withRenewals || what !== 'renewed') && resource.toLowerCase().includes(wanted),
    )
    .slice(0, SHOWN)
  return (
    <section className="card events" aria-label={words.events}>
      <div className="bar">
        <h2 className="grow">{words.events}</h2>
        <label className="quiet">
          <input
            type="checkbox"
            checked={withRenewals}
            onChange={({ target }) => setWithRenewals(target.checked)}
          />{' '}
          {words.withRenewals}
        </label>
      </div>
      <input
        type="search"
        aria-label={words.filterEvents}
        placeholder={words.filterEvents}
        value={filter}
        onChange={({ target }) => setFilter(target.value)}
      />
      <EventList
        events={shown}
        words={words}
        empty={wanted ? words.noMatch : words.noEvents}
        onSelect={onSelect}
      />
    </section>
  )
}
