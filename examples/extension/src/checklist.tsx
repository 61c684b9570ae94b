/** The list, for the pages of the extension. A change of one item renders its row and nothing else. */
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { useEntities, useEntity, useEntityIds, useSync } from '../../../src/react/index.ts'
import { useActivity } from './activity.tsx'
import { addItem, type Item, LABEL_LENGTH, tick } from './model.ts'
import { texts } from './texts.ts'

const ROWS_AT_ONCE = 200

export function Checklist({ autoFocus = false }: { readonly autoFocus?: boolean }) {
  const ids = useEntityIds()
  const [limit, setLimit] = useState(ROWS_AT_ONCE)
  const hidden = Math.max(0, ids.length - limit)
  return (
    <section className="checklist" aria-label={texts.app}>
      <Progress />
      <div className="rows">
        {ids.length === 0 && (
          <div className="notice">
            <p>{texts.empty}</p>
            <p className="quiet">{texts.emptyHint}</p>
          </div>
        )}
        {hidden > 0 && (
          <button type="button" className="link" onClick={() => setLimit(limit + ROWS_AT_ONCE)}>
            {texts.earlier(Math.min(hidden, ROWS_AT_ONCE))}
          </button>
        )}
        <ul onKeyDown={moveFocus}>
          {ids.slice(hidden).map((id) => (
            <Row key={id} id={id} />
          ))}
        </ul>
      </div>
      <AddForm autoFocus={autoFocus} />
    </section>
  )
}

function Progress() {
  const sync = useSync<Item>()
  const { run } = useActivity()
  const entries = useEntities<Item>()
  const done = entries.filter(([, { checked }]) => checked)
  const removeDone = () => {
    const undo = () => void run(sync.setEntities(done), texts.notSaved)
    const removed = sync.removeEntity(...done.map(([id]) => id))
    void run(removed, texts.notSaved, { text: texts.removedMany(done.length), undo })
  }
  return (
    <div className="progress">
      <progress
        aria-label={texts.progress(done.length, entries.length)}
        max={entries.length || 1}
        value={done.length}
      />
      <div>
        <span className="figures">{entries.length > 0 && texts.progress(done.length, entries.length)}</span>
        <button type="button" className="link" hidden={done.length === 0} onClick={removeDone}>
          {texts.clearDone}
        </button>
      </div>
    </div>
  )
}

function Row({ id }: { readonly id: string }) {
  const sync = useSync<Item>()
  const { run } = useActivity()
  const item = useEntity<Item>(id)
  if (!item) return null
  const remove = () => {
    const undo = () => void run(sync.setEntity(id, item), texts.notSaved)
    void run(sync.removeEntity(id), texts.notSaved, { text: texts.removed(item.label), undo })
  }
  return (
    <li>
      <label>
        <input
          type="checkbox"
          checked={item.checked}
          onChange={(event) => void run(tick(sync, id, event.target.checked), texts.notSaved)}
        />
        <span>{item.label}</span>
      </label>
      <button
        type="button"
        className="remove"
        aria-label={texts.remove(item.label)}
        onClick={(event) => {
          focusBeside(event.currentTarget)
          remove()
        }}
      >
        ×
      </button>
    </li>
  )
}

function AddForm({ autoFocus }: { readonly autoFocus: boolean }) {
  const sync = useSync<Item>()
  const { run } = useActivity()
  const [label, setLabel] = useState('')
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (autoFocus) field.current?.focus()
  }, [autoFocus])
  async function add(event: FormEvent): Promise<void> {
    event.preventDefault()
    const text = label.trim()
    if (!text) return
    // Now, not when it is stored: what is typed in the meantime is the next item.
    setLabel('')
    requestAnimationFrame(() => document.querySelector('li:last-child')?.scrollIntoView({ block: 'nearest' }))
    const isStored = await run(addItem(sync, text), texts.notAdded(text))
    if (!isStored) setLabel((typed) => typed || text)
  }
  return (
    <form className="add" onSubmit={(event) => void add(event)}>
      <input
        ref={field}
        aria-label={texts.newItem}
        placeholder={texts.newItem}
        value={label}
        maxLength={LABEL_LENGTH}
        onChange={(event) => setLabel(event.target.value)}
      />
      <button type="submit" className="primary" disabled={!label.trim()}>
        {texts.add}
      </button>
    </form>
  )
}

/** The arrow keys move between items; Delete removes the one with the focus. */
function moveFocus(event: KeyboardEvent<HTMLUListElement>): void {
  const row = (event.target as Element).closest('li')
  const step = { ArrowDown: row?.nextElementSibling, ArrowUp: row?.previousElementSibling }[event.key]
  if (step) {
    event.preventDefault()
    step.querySelector('input')?.focus()
  }
  if (event.key === 'Delete') row?.querySelector<HTMLElement>('.remove')?.click()
}

/** The row will be gone: the focus goes to its neighbour, or to the field for a new item. */
function focusBeside(element: Element): void {
  const row = element.closest('li')
  const beside = row?.nextElementSibling ?? row?.previousElementSibling
  const field = beside?.querySelector('input') ?? document.querySelector<HTMLElement>('.add input')
  field?.focus()
}
