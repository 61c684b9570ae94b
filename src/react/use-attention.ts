import { useEffect } from 'react'

/** How a page calls a person who looks at another tab. It never makes a sound. */
export interface Attention {
  /** The address of an icon of the page, such as one with a dot, for this time. Default: the icon does not change. */
  readonly icon?: string | undefined
  /**
   * Whether a hidden page also shows a notification of the system, if the user has allowed the page to do so: ask with
   * `Notification.requestPermission()`. Default false.
   */
  readonly notification?: boolean | undefined
}

/** While there is a text, it is the title of the page. Then the page gets its own title and icon back. */
export function useAttention(text: string | null, { icon, notification }: Attention): void {
  useEffect(() => {
    if (text === null) return
    const { title: former } = document
    document.title = text
    return () => {
      // The page may have another title by now, because it shows another document.
      if (document.title === text) document.title = former
    }
  }, [text])
  const isCalling = text !== null
  useEffect(() => (isCalling && icon !== undefined ? showIcon(icon) : undefined), [isCalling, icon])
  useEffect(() => {
    if (text === null || !notification || !document.hidden) return
    return notifySilently(text)
  }, [text, notification])
}

function showIcon(address: string): () => void {
  const shown = document.createElement('link')
  shown.rel = 'icon'
  shown.href = address
  // Of several icons, browsers show the last one.
  document.head.append(shown)
  const others = [...document.querySelectorAll<HTMLLinkElement>('link[rel~="icon"]')]
  const hidden = others.filter((link) => link !== shown)
  for (const link of hidden) link.remove()
  return () => {
    shown.remove()
    document.head.append(...hidden)
  }
}

function notifySilently(text: string): (() => void) | undefined {
  if (globalThis.Notification?.permission !== 'granted') return undefined
  try {
    const shown = new Notification(text, { tag: 'holdfast', silent: true })
    shown.onclick = () => globalThis.focus()
    return () => shown.close()
  } catch {
    // Browsers on phones show notifications of service workers only.
    return undefined
  }
}
