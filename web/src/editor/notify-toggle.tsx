import { useState } from 'react'
import { usePreferences } from '../ui/preferences.ts'
import { editorTexts } from './texts.ts'

/** Whether a hidden page shows a notification when somebody asks for its document. The browser asks the person first. */
export function NotifyToggle() {
  const [{ lang, notify }, change] = usePreferences()
  const [isBlocked, setBlocked] = useState(() => permission() === 'denied')
  const words = editorTexts[lang]
  const text = isBlocked ? words.notifyBlocked : words.notify
  const toggle = async () => {
    if (notify) return change({ notify: false })
    const answer = await Notification.requestPermission()
    setBlocked(answer === 'denied')
    change({ notify: answer === 'granted' })
  }
  if (permission() === undefined) return null
  return (
    <button
      type="button"
      className="notify"
      aria-label={text}
      title={text}
      aria-pressed={notify && !isBlocked}
      disabled={isBlocked}
      onClick={() => void toggle()}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M3 11.5h10l-1.2-1.7V7a3.8 3.8 0 0 0-7.6 0v2.8zM6.5 13.5h3" />
      </svg>
    </button>
  )
}

/** `undefined`: this browser has no notifications for pages. */
function permission(): NotificationPermission | undefined {
  return globalThis.Notification?.permission
}
