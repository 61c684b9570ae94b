/**
 * Does a bare thing again and again while the work runs, and says how long the slowest took. What is to happen at
 * once is compared with it, since whatever holds up the one holds up the other.
 */
export async function slowestBeside(work: Promise<unknown>, bare: () => Promise<unknown>): Promise<number> {
  let isOver = false
  const onEnd = () => {
    isOver = true
  }
  work.then(onEnd, onEnd)
  let slowest = 0
  do {
    const started = performance.now()
    await bare()
    slowest = Math.max(slowest, performance.now() - started)
  } while (!isOver)
  await work
  return slowest
}
