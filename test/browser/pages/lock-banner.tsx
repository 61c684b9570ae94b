/** The banner and its hook in strict mode, for a server of another origin. */
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import {
  HoldfastProvider,
  LockBanner,
  type UseDocumentLockOptions,
  useDocumentLock,
} from '../../../src/react/index.ts'

const root = createRoot(document.body.appendChild(document.createElement('div')))

interface Shown {
  readonly url: string
  readonly room: string
  readonly name: string
  readonly token?: string
  /** A provider says which server it is. Otherwise the hook does, against another one of the provider. */
  readonly isProvided: boolean
}

function Page({ url, room, name, token, isProvided }: Shown) {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const server = { url, name, headers }
  const other = { url: 'http://localhost:1', name: 'Nobody', headers: { authorization: 'Bearer of-nobody' } }
  return (
    <HoldfastProvider {...(isProvided ? server : other)}>
      <Banner room={room} options={isProvided ? {} : server} />
    </HoldfastProvider>
  )
}

function Banner({ room, options }: { readonly room: string; readonly options: UseDocumentLockOptions }) {
  const { lock } = useDocumentLock(room, options)
  return <LockBanner lock={lock} texts={{ edit: 'Write' }} />
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
