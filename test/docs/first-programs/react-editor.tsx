import { DraftStatusText, HoldfastProvider, LockBanner, useDraft } from 'holdfast/react'
import 'holdfast/react/styles.css'

function Editor() {
  const { state, draft, lock } = useDraft('minutes-42')
  return (
    <main>
      <LockBanner lock={lock} draft={state} />
      <textarea
        aria-label="Minutes"
        readOnly={!state.isWritable}
        value={state.content}
        onChange={(event) => draft?.edit(event.target.value)}
      />
      <DraftStatusText state={state} />
    </main>
  )
}

export default function App() {
  return (
    <HoldfastProvider url="http://localhost:4321" name="Mika">
      <Editor />
    </HoldfastProvider>
  )
}
