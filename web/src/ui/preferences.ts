import { useSyncExternalStore } from 'react'

export type Lang = 'en' | 'ja'
export type Theme = 'auto' | 'light' | 'dark'

export interface Preferences {
  readonly lang: Lang
  readonly theme: Theme
  /** The name that others see while this person edits. */
  readonly name: string
}

const KEY = 'holdfast:preferences'
/** The name of somebody who has not chosen one. Each window has its own. */
const GUEST_KEY = 'holdfast:guest'
const listeners = new Set<() => void>()
let current = read()
apply()
addEventListener('storage', ({ key }) => {
  if (key !== KEY) return
  current = read()
  apply()
  for (const listener of listeners) listener()
})

/** The person's choices, stored in the browser. All its windows follow. */
export function usePreferences(): [Preferences, (change: Partial<Preferences>) => void] {
  const preferences = useSyncExternalStore(subscribe, () => current)
  return [preferences, change]
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function change(changes: Partial<Preferences>): void {
  current = { ...current, ...changes }
  try {
    const { name, ...others } = current
    localStorage.setItem(KEY, JSON.stringify(name === guestName() ? others : current))
  } catch {
    // Private windows may refuse storage. Then the choice lasts as long as this page.
  }
  apply()
  for (const listener of listeners) listener()
}

function apply(): void {
  const { lang, theme } = current
  document.documentElement.lang = lang
  document.documentElement.style.colorScheme = theme === 'auto' ? 'light dark' : theme
}

function read(): Preferences {
  let kept: Partial<Preferences> = {}
  try {
    kept = Object(JSON.parse(localStorage.getItem(KEY) ?? '{}'))
  } catch {
    // Damaged, or storage was refused: the defaults are used.
  }
  const { lang, theme, name } = kept
  return {
    lang: lang === 'ja' || lang === 'en' ? lang : navigator.language.startsWith('ja') ? 'ja' : 'en',
    theme: theme === 'light' || theme === 'dark' ? theme : 'auto',
    name: typeof name === 'string' && name !== '' ? name : guestName(),
  }
}

function guestName(): string {
  try {
    const name = sessionStorage.getItem(GUEST_KEY) ?? randomGuest()
    sessionStorage.setItem(GUEST_KEY, name)
    return name
  } catch {
    return randomGuest()
  }
}

function randomGuest(): string {
  return `Guest ${Math.floor(Math.random() * 900) + 100}`
}
