import { type Clock, systemClock } from '../core/index.ts'

/** Posts each id back when its time is over; one that was cancelled meanwhile is nobody's any more. */
const WORKER_SOURCE = 'onmessage = ({ data: { id, ms } }) => setTimeout(postMessage, ms, id)'

interface Timer {
  readonly dueAt: number
  readonly fire: () => void
}

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
  shared ??= makeClock()
  return shared
}

function makeClock(): Clock {
  const timers = new Map<number, Timer>()
  let lastId = 0
  let worker: Worker | null | undefined
  const page = globalThis.document as Document | undefined
  page?.addEventListener('visibilitychange', () => {
    if (page.hidden) for (const [id, timer] of timers) handOver(id, timer)
  })

  function handOver(id: number, { dueAt }: Timer): void {
    worker ??= startWorker((due) => timers.get(due)?.fire())
    worker?.postMessage({ id, ms: Math.max(0, dueAt - systemClock.monotonic()) })
  }

  return {
    ...systemClock,
    setTimer(run, ms, background) {
      const id = ++lastId
      const end = () => {
        cancelOwn()
        timers.delete(id)
      }
      const fire = () => {
        end()
        run()
      }
      // Kept beside the worker's: whichever comes first runs, so that a worker that fails costs nothing.
      const cancelOwn = systemClock.setTimer(fire, ms, background)
      const timer = { dueAt: systemClock.monotonic() + ms, fire }
      timers.set(id, timer)
      if (page?.hidden) handOver(id, timer)
      return end
    },
  }
}

/** `null` where the page may not have one. */
function startWorker(onDue: (id: number) => void): Worker | null {
  try {
    const worker = new Worker(URL.createObjectURL(new Blob([WORKER_SOURCE])))
    worker.onmessage = ({ data }: MessageEvent<number>) => onDue(data)
    return worker
  } catch {
    return null
  }
}
