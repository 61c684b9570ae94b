/** The banner and its hook in strict mode, for a server of another origin. */
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { LockBanner, useDocumentLock } from '../../../src/react/index.ts'

const root = createRoot(document.body.appendChild(document.createElement('div')))

function Page({ url, room, name }: { url: string; room: string; name: string }) {
  const { state, lock } = useDocumentLock(room, { url, name })
  return <LockBanner state={state} lock={lock} texts={{ edit: 'Write' }} />
}

export const scenarios = {
  async show(url: string, room: string, name: string): Promise<void> {
    root.render(
      <StrictMode>
        <Page url={url} room={room} name={name} />
      </StrictMode>,
    )
  },

  async unmount(): Promise<void> {
    root.unmount()
  },
}

Object.assign(globalThis, { scenarios })
