import { type ReactNode, StrictMode, useCallback, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { SyncProvider, useSync, useSyncSettings, useSyncStatus } from '../../../src/react/index.ts'
import { ActivityProvider } from './activity.tsx'
import { openSync } from './model.ts'
import { explain, language, texts } from './texts.ts'

/** Shows a page of the extension: at once, with the list when it has been read. */
export function show(page: ReactNode): void {
  document.documentElement.lang = language
  document.title = texts.app
  createRoot(document.getElementById('root') as HTMLElement).render(
    <StrictMode>
      <SyncProvider sync={openSync()}>
        <ActivityProvider>
          <Surface>{page}</Surface>
        </ActivityProvider>
      </SyncProvider>
    </StrictMode>,
  )
}

function Surface({ children }: { readonly children: ReactNode }) {
  const sync = useSync()
  const status = useSyncStatus()
  const { themeToken } = useSyncSettings()
  const [failure, setFailure] = useState('')
  const load = useCallback(() => {
    setFailure('')
    sync.bootstrap().catch((error: unknown) => setFailure(explain(texts.unreadable, error)))
  }, [sync])
  useEffect(load, [load])
  return (
    <main style={{ '--mark': themeToken } as object} aria-busy={status === 'loading' && !failure}>
      {failure && status === 'loading' ? (
        <div className="notice" role="alert">
          <p>{failure}</p>
          <button type="button" onClick={load}>
            {texts.retry}
          </button>
        </div>
      ) : status === 'loading' ? (
        <p className="notice late">{texts.loading}</p>
      ) : (
        children
      )}
    </main>
  )
}
