import { createDocumentLock, createDraft } from '../../src/client/index.ts'
import { STATUS, whoIsEditing } from '../words.ts'

const name = new URLSearchParams(location.search).get('name') ?? 'Mika'
const lock = createDocumentLock('minutes-42', { name })
const draft = createDraft(lock)

const text = find(HTMLTextAreaElement, 'text')
const edit = find(HTMLButtonElement, 'edit')
const stop = find(HTMLButtonElement, 'stop')
const takeMine = find(HTMLButtonElement, 'take-mine')
const takeTheirs = find(HTMLButtonElement, 'take-theirs')
const bringBack = find(HTMLButtonElement, 'bring-back')

lock.subscribe(render)
draft.subscribe(render)
text.oninput = () => draft.edit(text.value)
edit.onclick = () => lock.acquire({ wait: Infinity })
// What was typed is saved before the lock is released.
stop.onclick = () => lock.release()
takeMine.onclick = () => draft.takeMine()
takeTheirs.onclick = () => draft.takeTheirs()
bringBack.onclick = () => draft.bringBack()
render()

function render(): void {
  const { phase, held } = lock.state
  const { content, theirs, dropped, status, isWritable } = draft.state
  if (text.value !== content) text.value = content
  text.readOnly = !isWritable
  find(HTMLElement, 'who').textContent = whoIsEditing(lock.state)
  find(HTMLElement, 'status').textContent = STATUS[status]
  find(HTMLElement, 'theirs').textContent = theirs
  find(HTMLElement, 'conflict').hidden = theirs === null
  edit.disabled = held || phase === 'acquiring' || phase === 'waiting'
  stop.disabled = !held
  takeMine.hidden = !held || (status !== 'conflict' && status !== 'unreadable')
  takeTheirs.hidden = theirs === null
  bringBack.hidden = dropped === null
}

function find<E extends HTMLElement>(type: new () => E, id: string): E {
  const element = document.getElementById(id)
  if (!(element instanceof type)) throw new Error(`the page has no #${id}`)
  return element
}
