import { addNote, type Note, openNotes } from '../../utils/notes.ts'

const notes = openNotes()
const list = document.getElementById('list') as HTMLUListElement
const empty = document.getElementById('empty') as HTMLElement
const form = document.getElementById('form') as HTMLFormElement
const field = document.getElementById('text') as HTMLInputElement
const problem = document.getElementById('problem') as HTMLElement
const rows = new Map<string, HTMLLIElement>()

notes.subscribe((change) => {
  if (change.type === 'entity') drawRow(change.id, change.entity)
  if (change.type === 'removed') removeRow(change.id)
  if (change.type === 'cleared') for (const id of rows.keys()) removeRow(id)
  empty.hidden = notes.status !== 'ready' || rows.size > 0
})
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const text = field.value.trim()
  if (!text) return
  // Now, not when it is stored: what is typed in the meantime is the next note.
  field.value = ''
  const isStored = await report(addNote(notes, text))
  if (!isStored) field.value ||= text
})
field.focus()
void report(notes.bootstrap())

function drawRow(id: string, { text }: Note): void {
  const row = rows.get(id) ?? createRow(id)
  row.querySelector('span')?.replaceChildren(text)
}

function createRow(id: string): HTMLLIElement {
  const row = document.createElement('li')
  const remove = Object.assign(document.createElement('button'), { textContent: '×', ariaLabel: 'Remove' })
  remove.addEventListener('click', () => void report(notes.removeEntity(id)))
  row.append(document.createElement('span'), remove)
  rows.set(id, row)
  list.append(row)
  return row
}

function removeRow(id: string): void {
  rows.get(id)?.remove()
  rows.delete(id)
}

/** If a write fails, what is shown has already gone back. */
async function report(work: Promise<void>): Promise<boolean> {
  problem.textContent = ''
  try {
    await work
    return true
  } catch (error) {
    problem.textContent = `It did not work. Try again. (${(error as Error).message})`
    return false
  }
}
