import { createContext, type ReactNode, useContext, useMemo } from 'react'
import { expectOptions } from '../base/arguments.ts'
import type { DocumentLockOptions } from '../client/index.ts'

/** The languages of the components. */
export type Language = 'en' | 'ja'

/** Which server, and who is editing. */
type ServerOptions = Pick<DocumentLockOptions, 'url' | 'name' | 'headers'>

export interface HoldfastProviderProps extends ServerOptions {
  /** The language of the components below. Default `en`. */
  readonly lang?: Language | undefined
  readonly children?: ReactNode
}

type Defaults = Omit<HoldfastProviderProps, 'children'>

const DefaultsContext = createContext<Defaults>({})

/**
 * Says once for all hooks and components below it which server they use, who is editing, and in which language. What
 * a hook or component says itself wins. A provider inside another one changes only what it says.
 *
 * @example
 * <HoldfastProvider url="https://locks.example.com" name={user.name} headers={{ authorization: `Bearer ${token}` }}>
 *   <App />
 * </HoldfastProvider>
 */
export function HoldfastProvider(props: HoldfastProviderProps): ReactNode {
  expectOptions(props, { url: 1, name: 1, headers: 1, lang: 1, children: 1 })
  const { url, name, headers, lang, children } = props
  const outer = useContext(DefaultsContext)
  const defaults = useMemo(
    () => ({
      url: url ?? outer.url,
      name: name ?? outer.name,
      headers: headers ?? outer.headers,
      lang: lang ?? outer.lang,
    }),
    [outer, url, name, headers, lang],
  )
  return <DefaultsContext.Provider value={defaults}>{children}</DefaultsContext.Provider>
}

/** The options, completed by the provider. */
export function useServer({ url, name, headers }: ServerOptions): ServerOptions {
  const defaults = useContext(DefaultsContext)
  return {
    url: url ?? defaults.url,
    name: name ?? defaults.name,
    headers: headers ?? defaults.headers,
  }
}

export function useLanguage(lang: Language | undefined): Language {
  const defaults = useContext(DefaultsContext)
  return lang ?? defaults.lang ?? 'en'
}
