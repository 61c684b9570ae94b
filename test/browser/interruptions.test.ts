import { expect, it, onTestFinished } from 'vitest'
import { HANG_MS } from '../hang-limit.ts'
import { emptyReport, interruptPeople } from './interruptions/interrupted-people.ts'
import { KINDS } from './interruptions/interruption.ts'

/**
 * Each kind of interruption once. By hand, for longer and with a report:
 * `HOLDFAST_INTERRUPTIONS=200 HOLDFAST_SEED=7 npx vitest run test/browser/interruptions.test.ts`.
 */
const { HOLDFAST_INTERRUPTIONS: byHand, HOLDFAST_SEED: seed = '34' } = process.env
const COUNT = Number(byHand ?? KINDS.length)

it('no word that two people type is lost, doubled or brought back, whatever interrupts them', {
  timeout: 5 * HANG_MS + COUNT * HANG_MS,
}, async () => {
  const report = emptyReport()
  if (byHand) onTestFinished(() => console.log(report))
  await interruptPeople(COUNT, Number(seed), report)
  expect(report).toMatchObject({ lost: [], doubled: [], resurrected: [] })
  expect(report.typed).toBeGreaterThan(COUNT)
})
