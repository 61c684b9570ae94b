/** Collects the events of leases in a loop, and says how many of them it has heard. Runs until it is ended. */
import { createLeases } from '../../../src/core/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { createCollector } from '../../../src/telemetry/index.ts'
import { fileSink, flushOnExit } from '../../../src/telemetry/index-node.ts'

const [directory = '', interval = '1000', ownExitCode] = process.argv.slice(2)
if (ownExitCode) process.once('SIGTERM', () => setTimeout(() => process.exit(Number(ownExitCode)), 20))
const collector = createCollector({ sinks: [fileSink(directory)], interval: Number(interval) })
flushOnExit(collector)
const listen = collector.listen('lease')
let heard = 0
const leases = createLeases(memoryStore(), {
  onEvent(event) {
    listen(event)
    heard++
  },
})
for (;;) {
  for (let n = 0; n < 50; n++) await leases.withLease('x', () => {})
  // Synchronous, so that what was told is never more than what was heard.
  process.stdout.write(`${heard}\n`)
  await new Promise((resolve) => setTimeout(resolve, 1))
}
