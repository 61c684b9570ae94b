import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import '../../../src/react/styles.css'
import '../ui/tokens.css'
import './editor.css'
import { Editor } from './editor.tsx'

const root = document.getElementById('root')
if (!root) throw new Error('the page has no #root')
const roomId = roomOf(location.hash.slice(1))
addEventListener('hashchange', () => location.reload())
createRoot(root).render(
  <StrictMode>
    <Editor roomId={roomId} />
  </StrictMode>,
)

/** The text after the `#`. It may be encoded incorrectly. */
function roomOf(hash: string): string {
  try {
    return decodeURIComponent(hash) || 'welcome'
  } catch {
    return hash
  }
}
