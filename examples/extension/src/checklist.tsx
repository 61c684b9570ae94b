import { useState } from 'react'
import { useEntity, useEntityIds, useSync } from '../../../src/react/index.ts'
import { addItem, type Item, tick } from './model.ts'

export function Checklist() {
  const sync = useSync<Item>()
  const ids = useEntityIds()
  const [label, setLabel] = useState('')
  return (
    <section aria-label="Checklist">
      <ul>
        {ids.map((id) => (
          <Row key={id} id={id} />
        ))}
      </ul>
      {ids.length === 0 && <p>Nothing to do.</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void addItem(sync, label).then(() => setLabel(''))
        }}
      >
        <input
          aria-label="New item"
          value={label}
          onChange={(event) => setLabel(event.target.value)}
          required
        />
        <button type="submit">Add</button>
      </form>
    </section>
  )
}

function Row({ id }: { id: string }) {
  const sync = useSync<Item>()
  const item = useEntity<Item>(id)
  if (!item) return null
  return (
    <li>
      <label>
        <input
          type="checkbox"
          checked={item.checked}
          onChange={(event) => void tick(sync, id, event.target.checked)}
        />
        <span>{item.label}</span>
      </label>
      <button type="button" aria-label={`Remove ${item.label}`} onClick={() => void sync.removeEntity(id)}>
        ×
      </button>
    </li>
  )
}
