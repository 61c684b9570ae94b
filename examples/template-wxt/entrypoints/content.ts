/** A button on every page that saves its title as a note, and counts the notes. */
import { defineContentScript } from 'wxt/utils/define-content-script'
import { addNote, openNotes } from '../utils/notes.ts'

export default defineContentScript({
  matches: ['http://*/*', 'https://*/*'],
  async main() {
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
    await notes.bootstrap()
    document.documentElement.append(host)

    function draw(): void {
      const isStopped = notes.status === 'invalidated'
      button.disabled = isStopped
      button.textContent = isStopped
        ? 'The extension was updated. Reload this page.'
        : `Save this page (notes: ${notes.state.entries.length})`
    }
  },
})
