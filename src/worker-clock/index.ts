import { type Clock, systemClock } from '../base/clock.ts'

const WORKER_SOURCE = 'onmessage = ({ data }) => setTimeout(postMessage, data, null)'

let shared: Clock | undefined

/**
 * The system's clock, whose timers are on time in a hidden page too. Browsers run the timers of hidden pages once
 * a minute; those of workers they leave alone. While the page is hidden a worker wakes it for what is due. Where
 * workers or blob URLs are refused, as by a Content Security Policy, the page's own timers remain.
 *
 * @example
 * const leases = createLeases(webStore(), { clock: workerClock() })
 */
export function workerClock(): Clock {
  shared ??= globalThis.document ? makeClock(document) : systemClock
  return shared
}

/**
 * All timers share one alarm, which is set for the first of them: most are cancelled long before they are due, and
 * cost nothing then but their entry.
 */
function makeClock(page: Document): Clock {
  const timers = new Set<{ readonly dueAt: number; readonly run: () => void }>()
  let alarmAt = Infinity
  let cancelAlarm = () => {}
  let worker: Worker | null | undefined
  page.addEventListener('visibilitychange', askWorker)

  function setAlarm(dueAt: number): void {
    if (dueAt >= alarmAt) return
    alarmAt = dueAt
    cancelAlarm()
    // Kept beside the worker's: whichever comes first rings, so that a worker that fails costs nothing.
    cancelAlarm = systemClock.setTimer(ring, dueAt - systemClock.monotonic())
    askWorker()
  }

  function askWorker(): void {
    if (!page.hidden || alarmAt === Infinity) return
    worker ??= startWorker(ring)
    worker?.postMessage(Math.max(0, alarmAt - systemClock.monotonic()))
  }

  function ring(): void {
    const now = systemClock.monotonic()
    cancelAlarm()
    alarmAt = Infinity
    for (const timer of timers) {
      if (timer.dueAt > now) setAlarm(timer.dueAt)
      // Each on its own: one may throw, and one may cancel the next.
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

/** `null` where the page may not have one. */
function startWorker(onMessage: () => void): Worker | null {
  try {
    const worker = new Worker(URL.createObjectURL(new Blob([WORKER_SOURCE])))
    worker.onmessage = onMessage
    return worker
  } catch {
    return null
  }
}
