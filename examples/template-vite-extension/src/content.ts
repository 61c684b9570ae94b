/** A button on every page that saves its title as a note, and counts the notes. */
import { addNote, openNotes } from './notes.ts'

const notes = openNotes()
const host = document.createElement('my-extension')
const root = host.attachShadow({ mode: 'open' })
const button = document.createElement('button')
button.style.cssText = 'position:fixed;right:16px;bottom:16px;z-index:2147483647'
root.append(button)

notes.subscribe(draw)
button.addEventListener('click', () => {
  addNote(notes, document.title || location.href).catch((error: Error) => {
    button.textContent = `Not saved: ${error.message}`
  })
})
notes.bootstrap().then(() => document.documentElement.append(host), console.error)

function draw(): void {
  const isStopped = notes.status === 'invalidated'
  button.disabled = isStopped
  button.textContent = isStopped
    ? 'The extension was updated. Reload this page.'
    : `Save this page (notes: ${notes.state.entries.length})`
}
