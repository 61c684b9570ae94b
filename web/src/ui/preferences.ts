import { useSyncExternalStore } from 'react'

export type Lang = 'en' | 'ja'
export type Theme = 'auto' | 'light' | 'dark'

export interface Preferences {
  readonly lang: Lang
  readonly theme: Theme
  /** The name that others see while this person edits. */
  readonly name: string
  /** Whether a hidden page may notify this person. */
  readonly notify: boolean
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
    localStorage.setItem(KEY, JSON.stringify(name === guestName(current.lang) ? others : current))
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
  const { theme, name, notify } = kept
  const lang = [kept.lang, navigator.language.startsWith('ja') ? 'ja' : 'en'].find(isLang) ?? 'en'
  return {
    lang,
    theme: theme === 'light' || theme === 'dark' ? theme : 'auto',
    name: typeof name === 'string' && name !== '' ? name : guestName(lang),
    notify: notify === true,
  }
}

function isLang(lang: unknown): lang is Lang {
  return lang === 'ja' || lang === 'en'
}

function guestName(lang: Lang): string {
  try {
    const name = sessionStorage.getItem(GUEST_KEY) ?? randomGuest(lang)
    sessionStorage.setItem(GUEST_KEY, name)
    return name
  } catch {
    return randomGuest(lang)
  }
}

function randomGuest(lang: Lang): string {
  return `${lang === 'ja' ? 'ゲスト' : 'Guest '}${Math.floor(Math.random() * 900) + 100}`
}
