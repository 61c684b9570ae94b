import { type ReactNode, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { SyncProvider, useSyncSettings } from '../../../src/react/index.ts'
import { openSync } from './model.ts'

/** Shows a page of the extension when all stored data has been read. */
export async function show(page: ReactNode): Promise<void> {
  const sync = openSync()
  await sync.bootstrap()
  createRoot(document.getElementById('root') as HTMLElement).render(
    <StrictMode>
      <SyncProvider sync={sync}>
        <Themed>{page}</Themed>
      </SyncProvider>
    </StrictMode>,
  )
}

function Themed({ children }: { children: ReactNode }) {
  const { themeToken } = useSyncSettings()
  return <main style={{ borderColor: themeToken }}>{children}</main>
}
