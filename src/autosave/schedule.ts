/** When to save: after a pause in the edits, and when the user leaves the page. */
import type { Clock } from '../base/clock.ts'

export interface Schedule {
  /** Postpones the save because of an edit, but never beyond the latest moment. */
  edit(): void
  cancel(): void
}

/**
 * Calls `run` when there has been no edit for `debounce` and the page is idle, at most `debounce + idle` after the
 * first edit.
 */
export function createSchedule(
  clock: Clock,
  { debounce, idle }: { readonly debounce: number; readonly idle: number },
  run: () => void,
): Schedule {
  let latest: number | undefined
  let stop: (() => void) | undefined
  const schedule: Schedule = {
    edit() {
      stop?.()
      latest ??= clock.monotonic() + debounce + idle
      stop = clock.setTimer(awaitIdle, Math.min(debounce, left()))
    },
    cancel() {
      stop?.()
      stop = latest = undefined
    },
  }
  return schedule

  function awaitIdle(): void {
    stop = left() > 0 ? whenIdle(fire, left()) : fire()
  }

  function fire(): undefined {
    schedule.cancel()
    run()
  }

  function left(): number {
    return Math.max(0, (latest ?? 0) - clock.monotonic())
  }
}

/** Safari and Node have no idle callbacks. There it runs at once. */
function whenIdle(run: () => void, timeout: number): (() => void) | undefined {
  if (typeof requestIdleCallback !== 'function') {
    run()
    return undefined
  }
  const handle = requestIdleCallback(run, { timeout })
  return () => cancelIdleCallback(handle)
}

/**
 * Calls `run` when the page is hidden or unloaded, which may be its last chance to save. Returns a function that
 * stops listening.
 */
export function onPageLeft(run: () => void): () => void {
  if (typeof document === 'undefined') return () => {}
  const onVisibilityChange = () => {
    if (document.visibilityState === 'hidden') run()
  }
  document.addEventListener('visibilitychange', onVisibilityChange)
  addEventListener('pagehide', run)
  return () => {
    document.removeEventListener('visibilitychange', onVisibilityChange)
    removeEventListener('pagehide', run)
  }
}
