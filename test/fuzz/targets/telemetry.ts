import { Analysis } from '../../../src/telemetry/analysis.ts'
import { receiveTelemetry } from '../../../src/telemetry/http-batches.ts'
import { readLines } from '../../../src/telemetry/monitor-node.ts'
import { isRecord, isValidField, parseLine } from '../../../src/telemetry/record.ts'
import type { Target } from '../target.ts'

const NOW = Date.UTC(2030, 0, 1, 13)
const at = '2030-01-01T12:00:00.000Z'
const lines = [
  {
    v: 1,
    at,
    stream: 'lease',
    type: 'acquired',
    resource: 'a',
    owner: 'Ann',
    token: 5,
    waitedMs: 3.5,
    attempts: 1,
  },
  {
    v: 1,
    at,
    stream: 'lease',
    type: 'lost',
    lease: 'a',
    reason: 'expired',
    leftMs: 0,
    heldMs: 5,
    retryable: true,
  },
  { v: 1, at, stream: 'project', type: 'lock:acquired', scope: 'project', backend: 'web-locks', held: false },
  { v: 1, at, stream: 'autosave', type: 'saved', source: 'p', operation: 'save', code: 'x' },
  { v: 2, at, stream: 'lease', type: 'acquired' },
].map((record) => JSON.stringify(record))

/** A file of lines, also in pieces, and the same records as a batch over HTTP. */
export const telemetry: Target = {
  corpus: [...lines, lines.join('\n'), `${lines.join('\r\n')}\r\n`].map((text) => ({ text })),
  open: () => ({
    async feed({ text = '' }) {
      const analysis = new Analysis({ now: NOW })
      const middle = Math.floor(text.length / 2)
      const pieces = async function* () {
        yield text.slice(0, middle)
        yield text.slice(middle)
      }
      await readLines(pieces(), {
        onLine: (line) => analysis.addLine(line),
        onHuge: () => analysis.skip('broken'),
        onLastLine: (line) => analysis.addLastLine(line),
      })
      for (const window of analysis.metrics()) expectNumbers(window)
      const events = text.split('\n').map(parseLine)
      const batch = receiveTelemetry({ events })
      const records = batch.ok ? batch.records : []
      for (const record of records) {
        if (Number.isNaN(Date.parse(record.at))) throw new Error(`${record.at} is no time`)
        for (const [field, value] of Object.entries(record))
          if (!['v', 'at', 'stream', 'type'].includes(field) && !isValidField(field, value))
            throw new Error(`${field} was accepted`)
        if (!isRecord(parseLine(JSON.stringify(record)))) throw new Error('it is no record any more')
      }
      receiveTelemetry(parseLine(text))
      return records.length > 0 ? 'accepted' : 'refused'
    },
  }),
}

/** A window is written as JSON, which has no NaN. */
function expectNumbers(window: object): void {
  JSON.stringify(window, (key, value) => {
    if (typeof value === 'number' && !Number.isFinite(value)) throw new Error(`${key} is ${value}`)
    return value
  })
}
