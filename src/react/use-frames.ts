import { useEffect, useRef } from 'react'

const running = new Set<() => void>()
let isLooping = false

/** Runs with every frame that is shown, all callers in one loop; hidden pages have no frames. */
export function useFrames(run: () => void): void {
  const latest = useRef(run)
  latest.current = run
  useEffect(() => {
    const tick = () => latest.current()
    tick()
    running.add(tick)
    if (!isLooping) loop()
    return () => {
      running.delete(tick)
    }
  }, [])
}

function loop(): void {
  for (const tick of running) tick()
  isLooping = running.size > 0
  if (isLooping) requestAnimationFrame(loop)
}
