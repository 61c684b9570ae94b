import type { Clock } from '../core/index.ts'

export interface Schedule {
  /** Puts the save off, since there is an edit; never past the latest moment. */
  edit(): void
  cancel(): void
}

/** Calls `run` once there was no edit for `debounce` and the page is idle, at most `debounce + idle` after the first. */
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

/** Safari and Node have no idle callbacks: there any moment is as good as another. */
function whenIdle(run: () => void, timeout: number): (() => void) | undefined {
  if (typeof requestIdleCallback !== 'function') {
    run()
    return undefined
  }
  const handle = requestIdleCallback(run, { timeout })
  return () => cancelIdleCallback(handle)
}
