import { type ComponentType, lazy } from 'react'
import { usePreferences } from './preferences.ts'

const TEXTS = {
  en: { failed: 'This part of the page could not be loaded.', reload: 'Reload the page' },
  ja: { failed: 'ページのこの部分を読み込めませんでした。', reload: 'ページを再読み込み' },
} as const

/** A part of the page that is loaded when it is shown. There may be no network then, or a newer server. */
export function lazyPart<P>(load: () => Promise<ComponentType<P>>) {
  return lazy<ComponentType<P>>(() =>
    load().then(
      (part) => ({ default: part }),
      () => ({ default: MissingPart }),
    ),
  )
}

function MissingPart() {
  const [{ lang }] = usePreferences()
  const words = TEXTS[lang]
  return (
    <p className="quiet empty" role="alert">
      {words.failed}{' '}
      <button type="button" onClick={() => location.reload()}>
        {words.reload}
      </button>
    </p>
  )
}
