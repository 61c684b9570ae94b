/** Writes batches into a folder until a file can grow no more, and says how many records were taken. */
import { fileSink } from '../../../src/telemetry/index-node.ts'
import { record } from '../records.ts'

const sink = fileSink(process.argv[2] ?? '')
const batch = Array.from({ length: 7 }, (_, n) => record('lock:acquired', n))
let taken = 0
try {
  for (;;) {
    sink.write(batch)
    taken += batch.length
  }
} catch {
  console.log(taken)
}
