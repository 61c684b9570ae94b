import assert from 'node:assert/strict'
import { opfsBuffer, type TelemetryRecord } from 'holdfast/telemetry'
import { unique } from '../backend.ts'

const LINE = '{"v":1,"at":"2030-01-01T12:00:00.000Z","stream":"lease","type":"acquired","waitedMs":12}'

/** Where the records of a page wait while the server cannot be reached, as docs/telemetry.md says. */
export async function telemetryCase(): Promise<void> {
  const record: TelemetryRecord = JSON.parse(LINE)
  for (const buffer of [opfsBuffer(), opfsBuffer({ folder: unique, maxBytes: 100_000 })]) {
    assert.equal(await buffer.append([record, record]), 0)
    const taken: TelemetryRecord[] = []
    await buffer.drain(async (records) => taken.push(...records))
    assert.deepEqual(taken, [record, record])
  }
}
