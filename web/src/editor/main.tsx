import { StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import '../../../src/react/styles.css'
import '../ui/tokens.css'
import './editor.css'
import { usePreferences } from '../ui/preferences.ts'
import { Editor } from './editor.tsx'
import { guest } from './guest.ts'
import { GuestPage } from './guest-frame.tsx'
import { installPlug } from './plug.ts'

installPlug()
const root = document.getElementById('root')
if (!root) throw new Error('the page has no #root')
createRoot(root).render(
  <StrictMode>
    <Page />
  </StrictMode>,
)

function Page() {
  const [{ lang }] = usePreferences()
  const [textLang, setTextLang] = useState(lang)
  if (guest === null) return <Editor textLang={textLang} onTextLang={setTextLang} />
  return <GuestPage key={textLang} textLang={textLang} onTextLang={setTextLang} />
}
