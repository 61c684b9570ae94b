import { useState } from 'react'
import type { DashboardEvent } from './live-leases.ts'
import type { DashboardTexts } from './texts.ts'

const SHOWN = 100

/** What happens to the leases, the latest on top. */
export function EventStream({
  events,
  words,
}: {
  readonly events: readonly DashboardEvent[]
  readonly words: DashboardTexts
}) {
  const [filter, setFilter] = useState('')
  const [withRenewals, setWithRenewals] = useState(false)
  const wanted = filter.trim().toLowerCase()
  const shown = events
    .filter(
      ({ what, lease }) =>
        (withRenewals || what !== 'renewed') && lease.resource.toLowerCase().includes(wanted),
    )
    .slice(0, SHOWN)
  return (
    <section className="card events">
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
      <ol>
        {shown.length === 0 && <li className="quiet empty">{wanted ? words.noMatch : words.noEvents}</li>}
        {shown.map(({ id, at, what, lease }) => (
          <li key={id}>
            <time className="mono quiet" dateTime={new Date(at).toISOString()}>
              {new Date(at).toLocaleTimeString([], { hour12: false })}
            </time>
            <span className="what" data-what={what}>
              {words.what[what]}
            </span>
            <span className="name" title={lease.resource}>
              {lease.resource}
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}
