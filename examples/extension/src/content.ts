/** A runtime surface: the checklist on the page, redrawn row by row. */
import { ACTIONS, addItem, type Item, inScope, openSync, tick } from './model.ts'

const sync = openSync()
const host = document.createElement('holdfast-checklist')
const root = host.attachShadow({ mode: 'open' })
root.innerHTML = `
  <style>
    :host { position: fixed; inset: auto 16px 16px auto; z-index: 2147483647; font: 14px system-ui; }
    section { background: #fff; color: #222; border: 2px solid var(--theme); border-radius: 8px; padding: 8px 12px; max-width: 240px; }
    ul { list-style: none; margin: 0; padding: 0; max-height: 40vh; overflow: auto; }
    button { border: 0; background: none; color: var(--theme); cursor: pointer; }
    input:checked + span { text-decoration: line-through; }
  </style>
  <section>
    <ul></ul>
    <form><input name="label" aria-label="New item" placeholder="New item" required></form>
    <button type="button">Settings</button>
  </section>`
const list = root.querySelector('ul') as HTMLUListElement
const form = root.querySelector('form') as HTMLFormElement
const rows = new Map<string, HTMLLIElement>()

sync.subscribe((change) => {
  if (change.type === 'entity') drawRow(change.id, change.entity)
  if (change.type === 'removed') removeRow(change.id)
  if (change.type === 'cleared') for (const id of rows.keys()) removeRow(id)
  if (change.type === 'settings') drawFrame()
})
form.addEventListener('submit', (event) => {
  event.preventDefault()
  const input = form.elements.namedItem('label') as HTMLInputElement
  report(addItem(sync, input.value))
  form.reset()
})
root.querySelector('button')?.addEventListener('click', () => {
  void chrome.runtime.sendMessage({ action: ACTIONS.openOptions })
})
report(sync.bootstrap().then(drawFrame))

function drawFrame(): void {
  host.style.setProperty('--theme', sync.settings.themeToken)
  if (inScope(sync.settings, location.hostname)) document.documentElement.append(host)
  else host.remove()
}

function drawRow(id: string, { label, checked }: Item): void {
  const row = rows.get(id) ?? createRow(id)
  const [box, text] = [row.querySelector('input'), row.querySelector('span')]
  if (box) box.checked = checked
  if (text) text.textContent = label
}

function createRow(id: string): HTMLLIElement {
  const row = document.createElement('li')
  const label = document.createElement('label')
  const box = Object.assign(document.createElement('input'), { type: 'checkbox' })
  const remove = Object.assign(document.createElement('button'), { textContent: '×', ariaLabel: 'Remove' })
  label.append(box, document.createElement('span'))
  row.append(label, remove)
  box.addEventListener('change', () => report(tick(sync, id, box.checked)))
  remove.addEventListener('click', () => report(sync.removeEntity(id)))
  rows.set(id, row)
  list.append(row)
  return row
}

function removeRow(id: string): void {
  rows.get(id)?.remove()
  rows.delete(id)
}

/** The sync has already restored the row. This tells the user why. */
function report(write: Promise<void>): void {
  write.catch((error: Error) => {
    host.title = error.message
  })
}
