import { useEffect, useRef } from 'react'

const running = new Set<() => void>()
let isLooping = false

/** Runs with every frame that is shown, all callers in one loop; hidden pages have no frames. */
export function useFrames(run: () => void): void {
  const latest = useRef(run)
  latest.current = run
  useEffect(() => everyFrame(() => latest.current()), [])
}

/** Runs now and with every frame from now on. Returns how to stop. */
export function everyFrame(tick: () => void): () => void {
  running.add(tick)
  if (isLooping) attempt(tick)
  else loop()
  return () => {
    running.delete(tick)
  }
}

function loop(): void {
  for (const tick of running) attempt(tick)
  isLooping = running.size > 0
  if (isLooping) requestAnimationFrame(loop)
}

/** One that throws is told once and stops; the others go on. */
function attempt(tick: () => void): void {
  try {
    tick()
  } catch (error) {
    running.delete(tick)
    reportError(error)
  }
}
