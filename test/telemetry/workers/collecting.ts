/** Collects the events of leases in a loop and prints how many it has collected. Runs until it is killed. */
import { createLeases } from '../../../src/core/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { createCollector } from '../../../src/telemetry/index.ts'
import { fileSink, flushOnExit } from '../../../src/telemetry/index-node.ts'

const [directory = '', interval = '1000', ownExitCode] = process.argv.slice(2)
if (ownExitCode) process.once('SIGTERM', () => setTimeout(() => process.exit(Number(ownExitCode)), 20))
const collector = createCollector({ sinks: [fileSink(directory)], interval: Number(interval) })
flushOnExit(collector)
const listen = collector.listen('lease')
let collected = 0
const leases = createLeases(memoryStore(), {
  onEvent(event) {
    listen(event)
    collected++
  },
})
for (;;) {
  for (let n = 0; n < 50; n++) await leases.withLease('x', () => {})
  // Synchronous, so that the printed number is never larger than the number of collected events.
  process.stdout.write(`${collected}\n`)
  await new Promise((resolve) => setTimeout(resolve, 1))
}
