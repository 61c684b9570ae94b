import { useState } from 'react'
import type { DashboardTexts } from './texts.ts'

const KEY = 'holdfast:admin-token'

/** The administrator's token: from the address (`#token=…`, then removed there), or from this tab's storage. */
export function useToken(): [string, (token: string) => void] {
  const [token, setToken] = useState(() => {
    const given = new URLSearchParams(location.hash.slice(1)).get('token')
    if (given !== null) {
      sessionStorage.setItem(KEY, given)
      history.replaceState(null, '', location.pathname)
    }
    return sessionStorage.getItem(KEY) ?? ''
  })
  const keep = (token: string) => {
    sessionStorage.setItem(KEY, token)
    setToken(token)
  }
  return [token, keep]
}

interface SignInProps {
  readonly words: DashboardTexts
  /** The last token was not accepted. */
  readonly isWrong: boolean
  readonly onToken: (token: string) => void
}

export function SignIn({ words, isWrong, onToken }: SignInProps) {
  const [token, setToken] = useState('')
  return (
    <form
      className="card sign-in"
      onSubmit={(event) => {
        event.preventDefault()
        onToken(token.trim())
      }}
    >
      <p>{words.signIn}</p>
      <label>
        {words.tokenLabel}
        <input
          type="password"
          autoComplete="off"
          required
          value={token}
          onChange={({ target }) => setToken(target.value)}
        />
      </label>
      <p className="failure" role="alert">
        {isWrong ? words.wrongToken : ''}
      </p>
      <button type="submit" className="primary">
        {words.enter}
      </button>
    </form>
  )
}
