/** Hears of what went wrong without harm to the caller. */
export type OnWarning = (message: string, error: unknown) => void

/** Ends a lock. A failure is told and harms nobody: the lock ends with its TTL. */
export async function releaseOrWarn(
  release: () => Promise<unknown>,
  lockOf: string,
  onWarning: OnWarning = warn,
): Promise<void> {
  try {
    await release()
  } catch (error) {
    tell(() => onWarning(`the lock of ${lockOf} could not be released; it ends with its TTL`, error))
  }
}

/** What a listener throws, now or later, is no affair of whoever tells it. */
export function tell(listener: () => unknown): void {
  new Promise((resolve) => resolve(listener())).catch(() => {})
}

function warn(message: string, error: unknown): void {
  console.warn(message, error)
}
