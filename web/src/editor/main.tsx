import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import '../../../src/react/styles.css'
import '../ui/tokens.css'
import './editor.css'
import { Editor } from './editor.tsx'
import { installPlug } from './plug.ts'
import { TOUR_ROOM, useRoom } from './rooms.ts'

installPlug()
const root = document.getElementById('root')
if (!root) throw new Error('the page has no #root')
createRoot(root).render(
  <StrictMode>
    <Page />
  </StrictMode>,
)

/** Without a document in its address, the page shows the three steps. */
function Page() {
  const room = useRoom()
  return <Editor key={room} roomId={room ?? TOUR_ROOM} hasTour={room === null} />
}
