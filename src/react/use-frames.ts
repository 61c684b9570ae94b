import { useEffect, useRef } from 'react'

const running = new Set<() => void>()
let isLooping = false

/** Calls `run` for every animation frame, all callers in one loop. Hidden pages have no frames. */
export function useFrames(run: () => void): void {
  const latest = useRef(run)
  latest.current = run
  useEffect(() => everyFrame(() => latest.current()), [])
}

/** Calls `tick` now and for every later frame. Returns a function that stops it. */
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

/** A callback that throws is reported once and removed. The others continue. */
function attempt(tick: () => void): void {
  try {
    tick()
  } catch (error) {
    running.delete(tick)
    reportError(error)
  }
}
