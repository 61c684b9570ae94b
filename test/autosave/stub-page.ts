import { vi } from 'vitest'

/** Stands for the page, whose events Node does not have. Ends with `vi.unstubAllGlobals`. */
export function stubPage() {
  const page = Object.assign(new EventTarget(), { visibilityState: 'visible' })
  vi.stubGlobal('document', page)
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
  return page
}
