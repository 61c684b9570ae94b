import type { ReactNode } from 'react'
import { type Lang, type Theme, usePreferences } from './preferences.ts'

const words = {
  en: {
    editor: 'Editor',
    dashboard: 'Dashboard',
    theme: 'Theme',
    auto: 'Auto',
    light: 'Light',
    dark: 'Dark',
  },
  ja: {
    editor: 'エディター',
    dashboard: 'ダッシュボード',
    theme: '配色',
    auto: '自動',
    light: 'ライト',
    dark: 'ダーク',
  },
}

/** The bar at the top of both pages. */
export function PageHeader({ current, children }: { current: 'editor' | 'dashboard'; children?: ReactNode }) {
  const [{ lang, theme }, change] = usePreferences()
  const text = words[lang]
  return (
    <header className="header bar">
      <img src="./icon.svg" width="24" height="24" alt="" />
      <h1>Holdfast</h1>
      <nav className="bar">
        <a href="./" aria-current={current === 'editor' ? 'page' : undefined}>
          {text.editor}
        </a>
        <a href="./dashboard" aria-current={current === 'dashboard' ? 'page' : undefined}>
          {text.dashboard}
        </a>
      </nav>
      <span className="grow" />
      {children}
      <span className="bar">
        <select
          aria-label={text.theme}
          value={theme}
          onChange={(event) => change({ theme: event.target.value as Theme })}
        >
          <option value="auto">{text.auto}</option>
          <option value="light">{text.light}</option>
          <option value="dark">{text.dark}</option>
        </select>
        <select
          aria-label="Language / 言語"
          value={lang}
          onChange={(event) => change({ lang: event.target.value as Lang })}
        >
          <option value="en">English</option>
          <option value="ja">日本語</option>
        </select>
      </span>
    </header>
  )
}
