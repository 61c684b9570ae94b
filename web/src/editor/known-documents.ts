import { useSyncExternalStore } from 'react'

const KEY = 'holdfast:documents'
/** As many as the server tells the locks of in one request. */
const MAX_DOCUMENTS = 500
const listeners = new Set<() => void>()
let current: readonly string[] = []
current = read()
addEventListener('storage', ({ key }) => {
  if (key !== KEY) return
  current = read()
  for (const listener of listeners) listener()
})

/** The documents that were opened in this browser, the latest first. All its tabs share the list. */
export function useKnownDocuments(): readonly string[] {
  return useSyncExternalStore(subscribe, () => current)
}

export function remember(roomId: string): void {
  if (!read().includes(roomId)) change([roomId, ...read()])
}

export function forget(roomId: string): void {
  change(read().filter((known) => known !== roomId))
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function change(documents: readonly string[]): void {
  current = documents.slice(0, MAX_DOCUMENTS)
  try {
    localStorage.setItem(KEY, JSON.stringify(current))
  } catch {
    // Private windows may refuse storage. Then the list lasts as long as this page.
  }
  for (const listener of listeners) listener()
}

function read(): readonly string[] {
  try {
    const known: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(known) ? known.filter((name) => typeof name === 'string') : []
  } catch {
    // Damaged, or storage was refused.
    return current
  }
}
