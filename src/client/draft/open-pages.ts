/** An open page holds a Web Lock with its id. Plain http has no Web Locks: every other page counts as gone there. */
const PREFIX = 'holdfast:unsaved:'

let isAnnounced = false

export function announcePage(pageId: string): void {
  if (isAnnounced) return
  isAnnounced = true
  globalThis.navigator?.locks?.request(PREFIX + pageId, () => new Promise(() => {})).catch(() => {})
}

/** The ids of the pages that are open now. */
export async function openPages(): Promise<Set<string>> {
  const { held = [] } = (await globalThis.navigator?.locks?.query().catch(() => undefined)) ?? {}
  return new Set(held.map(({ name = '' }) => name.slice(PREFIX.length)))
}

/** Resolves when that page has ended. */
export async function endOfPage(pageId: string): Promise<void> {
  await navigator.locks.request(PREFIX + pageId, () => {})
}

/** Two pages never do this at the same time. */
export async function alone<T>(work: () => Promise<T>): Promise<T> {
  const { locks } = globalThis.navigator ?? {}
  let isRun = false
  const run = () => {
    isRun = true
    return work()
  }
  if (!locks) return run()
  return locks.request(PREFIX, run).catch((error) => (isRun ? Promise.reject(error) : run())) as Promise<T>
}
