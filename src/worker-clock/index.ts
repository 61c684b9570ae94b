import { type Clock, MAX_TIMER_MS, systemClock } from '../base/clock.ts'

const WORKER_SOURCE = 'onmessage = ({ data }) => setTimeout(postMessage, data, null)'

let shared: Clock | undefined

/**
 * The system's clock, with timers that are also on time in a hidden page. Browsers run the timers of a hidden page
 * only once a minute, but do not delay the timers of workers. While the page is hidden, a worker wakes it when a timer
 * is due. If workers or blob URLs are refused, for example by a Content Security Policy, only the page's own timers
 * remain.
 *
 * @example
 * const leases = createLeases(webStore(), { clock: workerClock() })
 */
export function workerClock(): Clock {
  shared ??= globalThis.document ? createClock(document) : systemClock
  return shared
}

/** All timers share one alarm, set for the earliest. Most timers are cancelled early, so they cost very little. */
function createClock(page: Document): Clock {
  const timers = new Set<{ readonly dueAt: number; readonly run: () => void }>()
  let alarmAt = Infinity
  let cancelAlarm = () => {}
  let worker: Worker | null | undefined
  page.addEventListener('visibilitychange', setWorkerAlarm)

  function setAlarm(dueAt: number): void {
    if (dueAt >= alarmAt) return
    alarmAt = dueAt
    cancelAlarm()
    // In addition to the worker's alarm, so that a worker that fails does no harm. The first one counts.
    cancelAlarm = systemClock.setTimer(onAlarm, dueAt - systemClock.monotonic())
    setWorkerAlarm()
  }

  function setWorkerAlarm(): void {
    if (!page.hidden || alarmAt === Infinity) return
    worker ??= startWorker(onAlarm)
    worker?.postMessage(Math.min(Math.max(0, alarmAt - systemClock.monotonic()), MAX_TIMER_MS))
  }

  function onAlarm(): void {
    const now = systemClock.monotonic()
    cancelAlarm()
    alarmAt = Infinity
    for (const timer of timers) {
      if (timer.dueAt > now) setAlarm(timer.dueAt)
      // Each in its own microtask, because one may throw, and one may cancel the next.
      else
        queueMicrotask(() => {
          if (timers.delete(timer)) timer.run()
        })
    }
  }

  return {
    ...systemClock,
    setTimer(run, ms) {
      const timer = { dueAt: systemClock.monotonic() + ms, run }
      timers.add(timer)
      setAlarm(timer.dueAt)
      return () => timers.delete(timer)
    },
  }
}

/** `null`: the page may not start one. */
function startWorker(onMessage: () => void): Worker | null {
  try {
    const worker = new Worker(URL.createObjectURL(new Blob([WORKER_SOURCE])))
    worker.onmessage = onMessage
    return worker
  } catch {
    return null
  }
}
