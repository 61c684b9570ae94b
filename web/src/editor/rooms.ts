import { useSyncExternalStore } from 'react'

/** The document of the start page. */
export const TOUR_ROOM = 'welcome'

/** The name of the document in the address of the page; `null` on the start page. */
export function useRoom(): string | null {
  return useSyncExternalStore(subscribe, () => roomOf(location.hash.slice(1)))
}

export function addressOf(room: string): string {
  return `#${encodeURIComponent(room)}`
}

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener)
  return () => removeEventListener('hashchange', listener)
}

/** The text after the `#` may be encoded incorrectly. */
function roomOf(hash: string): string | null {
  try {
    return decodeURIComponent(hash) || null
  } catch {
    return hash
  }
}
