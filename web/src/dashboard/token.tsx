import { useState } from 'react'
import { shortToken } from '../ui/short-token.ts'
import type { DashboardTexts } from './texts.ts'

const COPIED_MS = 1500

/** The end of a token. A click copies all of it, or shows all of it where the browser does not let pages copy. */
export function Token({ token, words }: { readonly token: number; readonly words: DashboardTexts }) {
  const [state, setState] = useState<'short' | 'copied' | 'full'>('short')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(String(token))
      setState('copied')
      setTimeout(() => setState('short'), COPIED_MS)
    } catch {
      setState('full')
    }
  }
  const texts = { short: shortToken(token), copied: words.copied, full: String(token) }
  return (
    <button
      type="button"
      className="token mono"
      title={String(token)}
      onClick={(event) => {
        // The row around it opens the details.
        event.stopPropagation()
        void copy()
      }}
    >
      {texts[state]}
      {state === 'short' && <span className="visually-hidden"> {words.copyToken(token)}</span>}
      <svg viewBox="0 0 16 16" aria-hidden="true" data-copied={state === 'copied'}>
        {state === 'copied' ? (
          <path d="M3 8.5 6.5 12 13 4.5" />
        ) : (
          <path d="M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z" />
        )}
      </svg>
    </button>
  )
}
