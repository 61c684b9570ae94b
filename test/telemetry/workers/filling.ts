/** Writes batches into a folder until the limit of the file's size, and prints how many records were written. */
import { fileSink } from '../../../src/telemetry/index-node.ts'
import { record } from '../records.ts'

const sink = fileSink(process.argv[2] ?? '')
const batch = Array.from({ length: 7 }, (_, n) => record('lock:acquired', n))
let written = 0
try {
  for (;;) {
    sink.write(batch)
    written += batch.length
  }
} catch {
  console.log(written)
}
