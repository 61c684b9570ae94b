/** The banner and its hook in strict mode, for a server of another origin. */
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { LockBanner, useDocumentLock } from '../../../src/react/index.ts'

const root = createRoot(document.body.appendChild(document.createElement('div')))

interface Shown {
  readonly url: string
  readonly room: string
  readonly name: string
  readonly token?: string
}

function Page({ url, room, name, token }: Shown) {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const { state, lock } = useDocumentLock(room, { url, name, headers })
  return <LockBanner state={state} lock={lock} texts={{ edit: 'Write' }} />
}

export const scenarios = {
  async show(shown: Shown): Promise<void> {
    root.render(
      <StrictMode>
        <Page {...shown} />
      </StrictMode>,
    )
  },

  async unmount(): Promise<void> {
    root.unmount()
  },
}

Object.assign(globalThis, { scenarios })
